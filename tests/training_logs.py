"""Logs of training as the frameworks of 2026 write them, shortened, with the number to record."""

from __future__ import annotations

# the text, what it is, and the options for `planner record`
LOGS = {
    "MaxText": (
        "completed step: 0, seconds: 65.1, TFLOP/s/device: 24.4\ncompleted step: 9, seconds: 5.121, loss: 8.0",
        "a log of training", "--time 5.121s (the median of the later half of 2 lines)",
    ),
    "MaxText, its metrics": (
        '{"step": 1, "perf/step_time_seconds": 65.1}\n{"step": 9, "perf/step_time_seconds": 5.12, "loss": 3.1}\n',
        "a log of training", "--time 5.12s (the median of the later half of 2 lines)",
    ),
    "MaxText, a checkpoint in the last step": (
        "".join(
            f"completed step: {n}, seconds: {time}, TFLOP/s/device: 97.6, Tokens/s/device: 1989.8, loss: 8.0\n"
            for n, time in enumerate((65.1, 7.2, 5.12, 5.16, 5.13, 12.5))
        ),
        "a log of training", "--time 5.16s (the median of the later half of 6 lines)",
    ),
    "AxoLearn": (
        "process   0 step      100] Average step time: 1.2312 seconds\n", "a log of training", "--time 1.2312s",
    ),
    "Levanter": (
        "INFO :: Progress on:train 19.0it/70.0it rate:76.8s/it remaining:1:05:15 elapsed:31:40 postfix:loss=3.1\n",
        "a log of training", "--time 76.8s",
    ),
    "Levanter, fast steps": (
        "INFO :: Progress on:train 1.00kit/10.0kit rate:2.4it/s remaining:1:02:30 elapsed:07:00 postfix:loss=3.1\n",
        "a log of training", "--time 0.4167s",
    ),
    "Levanter, whose first steps compile": (
        "INFO :: Progress on:train 1.00it/10.0kit rate:76.8s/it remaining:1:02:30 elapsed:07:00 postfix:loss=3.1\n"
        "INFO :: Progress on:train 2.00it/10.0kit rate:2.4it/s remaining:1:02:30 elapsed:07:00 postfix:loss=3.1\n"
        "INFO :: Progress on:train 3.00it/10.0kit rate:2.5it/s remaining:1:02:30 elapsed:07:00 postfix:loss=3.1\n",
        "a log of training", "--time 0.4167s (the median of the later half of 3 lines)",
    ),
    "a time that isn't a number": (
        " iteration=     10/   100 | elapsed_time_per_iteration_ms: ... |\n",
        "a log of training", "--time 6.4s, --tokens-per-second N or --mfu 41%",
    ),
    "nanotron": (
        "iteration: 2 / 100 | consumed_tokens: 1.05M | elapsed_time_per_iteration_ms: 1.23K | tokens_per_sec: 853K |\n",
        "a log of training", "--time 1.23e3ms",
    ),
    "Megatron-DeepSpeed": (
        " iteration=     10/   100 | consumed_samples=  2560 | elapsed_time_per_iteration_ms=1234.5 |\n",
        "a log of training", "--time 1234.5ms",
    ),
    "torchtitan, Weights & Biases' CSV": (
        '"Step","titan-8b - time_metrics/end_to_end(s)","titan-8b - time_metrics/end_to_end(s)__MIN"\n'
        + "".join(f'"{n}","{time}","{time}"\n' for n, time in ((1, 31.5), (10, 9.61), (20, 9.52), (30, 9.55))),
        "a log of training", "--time 9.55s (the median of the later half of 4 lines)",
    ),
    "Megatron Bridge": (
        "Step Time : 9.53s GPU utilization: 512.3MODEL_TFLOP/s/GPU\n", "a log of training", "--time 9.53s",
    ),
    "Megatron-LM": (
        " iteration 10/ 24000 | elapsed time per iteration (ms): 5123.4/5200.1 | lm loss: 11.9 |",
        "a log of training", "--time 5123.4ms",
    ),
    "NeMo": ("| global_step: 9 | train_step_timing in s: 9.532 | ", "a log of training", "--time 9.532s"),
    "NeMo 1": (
        "Epoch 0: :  50%|#####     | 50/100 [08:00<08:00, global_step=49.00, train_step_timing in s=9.530]",
        "a log of training", "--time 9.530s",
    ),
    "NeMo Automodel": (
        "step 1 | epoch 0 | loss 10.9521 | mem 38.39 GiB | tps 132005.57(66002.79/gpu) | num_label_tokens 524288\n",
        "a log of training", "--tokens-per-second 132005.57",
    ),
    "NeMo RL": (
        "  • Total step time: 42.31s\n  • generation: 20.1s (47.5%)\n  • policy_training: 15.3s (36.2%)\n",
        "a log of reinforcement learning, whose steps generate too", "--time 6.4s, --tokens-per-second N or --mfu 41%",
    ),
    "torchtune": (
        "Step 10 | loss:1.23 lr:2e-05 tokens_per_second_per_gpu:1234.5 peak_memory_active:40.1\n",
        "a log of training", "--tokens-per-second 1234.5*CHIPS",
    ),
    "OLMo-core": (
        "    throughput/device/TPS=12,345\n    throughput/device/MFU=41.2\n",
        "a log of training", "--tokens-per-second 12345*CHIPS",
    ),
    "LLM Foundry": (
        "\t Train throughput/tokens_per_sec: 20082.8418\n\t Train throughput/device/tokens_per_sec: 1255.1776\n",
        "a log of training", "--tokens-per-second 20082.8418",
    ),
    "torchtitan, in colour": (
        "\x1b[31mstep: 10  \x1b[34mtps: 5,762  \x1b[36mtflops: 421.11  \x1b[35mmfu: 42.58%\x1b[39m",
        "a log of training", "--tokens-per-second 5762*CHIPS",
    ),
    "DeepSpeed": (
        "global_step=10, RunningAvgSamplesPerSec=28.5, CurrSamplesPerSec=28.9",
        "a log of training", "--tokens-per-second 28.5*SEQUENCE_LENGTH",
    ),
    "DeepSpeed's profiler": (
        "---- DeepSpeed Flops Profiler ----\niter latency:              376 ms\n", "a log of training", "--time 376ms",
    ),
    "DeepSpeed's profiler, in seconds": (
        "---- DeepSpeed Flops Profiler ----\niter latency:              1.34 s\n", "a log of training", "--time 1.34s",
    ),
    "DeepSpeed's pipeline": (
        "steps: 10 loss: 11.2131 iter time (s): 4.031 samples/sec: 31.758\n", "a log of training", "--time 4.031s",
    ),
    "nanoGPT": ("iter 10: loss 9.6423, time 251.22ms, mfu 41.12%\n", "a log of training", "--time 251.22ms"),
    "nanochat": ("step 00010/21400 | loss: 7.8 | dt: 512.34ms | mfu: 47.81 |", "a log of training", "--time 512.34ms"),
    "MLPerf Training": (
        ':::MLLOG {"key": "tracked_stats", "value": {"throughput": 5.1}}',
        "a log of MLPerf", "--time 6.4s, --tokens-per-second N or --mfu 41%",
    ),
    "Hugging Face's Trainer 5": (
        "{'loss': '2.31', 'grad_norm': '1.2', 'learning_rate': '5e-05', 'epoch': '0.1'}",
        "a log of training", "--time 6.4s, --tokens-per-second N or --mfu 41%",
    ),
    "Hugging Face's Trainer": (
        "{'train_runtime': 812.3, 'train_samples_per_second': 12.31, 'train_steps_per_second': 0.385}",
        "a log of training", "--time 6.4s, --tokens-per-second N or --mfu 41%",
    ),
}  # fmt: skip
