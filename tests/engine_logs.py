"""Logs and results of serving as the engines of 2026 write them, shortened, with the number to record."""

from __future__ import annotations

# the text, what it is, and the options for `planner record`
LOGS = {
    "vllm bench serve": (
        '{"backend": "vllm", "output_throughput": 1555.1, "median_ttft_ms": 388.4, "median_tpot_ms": 21.2}',
        "a benchmark's result", "--time 21.2ms --of tpot or --time 388.4ms --of ttft",
    ),
    "vllm bench serve, printed": (
        "Output token throughput (tok/s):         1555.10   \nMean TTFT (ms):           410.20\n"
        "Median TTFT (ms):         388.40    \nMedian TPOT (ms):         21.20     \n",
        "a benchmark's result", "--time 21.20ms --of tpot or --time 388.40ms --of ttft",
    ),
    "vllm bench latency": (
        '{\n  "avg_latency": 1.284,\n  "latencies": [1.28, 1.29],\n  "percentiles": {"50": 1.284}\n}',
        "a benchmark's result", "--time 1.284s --of static_batch_time",
    ),
    "vllm bench serve, all requests at once": (
        '{"request_rate": "inf", "max_concurrency": null, "median_ttft_ms": 21943.2, "median_tpot_ms": 190.1}',
        "a benchmark's result", "--time 190.1ms --of tpot",
    ),
    "vllm bench serve, all requests at once within a limit": (
        '{"request_rate": "inf", "max_concurrency": 64, "median_ttft_ms": 118.2, "median_tpot_ms": 21.3}',
        "a benchmark's result", "--time 21.3ms --of tpot or --time 118.2ms --of time_to_first_token_full",
    ),
    "sglang bench_serving, printed, at a rate": (
        "Traffic request rate:                    4.0\nMax request concurrency:                 not set   \n"
        "Concurrency:                             40.55\nMedian TTFT (ms):    943.22\nMedian ITL (ms):     60.10\n",
        "a benchmark's result", "--time 60.10ms --of tpot",
    ),
    "trtllm-bench, printed whole": (
        "Number of concurrent requests:  1968.80\nRequest Throughput (req/sec):  43.2089\n"
        "Average time-to-first-token [TTFT] (ms):  52667.0339\n"
        "Average time-per-output-token [TPOT] (ms):        182.9639\n",
        "a benchmark's result", "--time 182.9639ms --of tpot",
    ),
    "aiperf, JSON": (
        '{"time_to_first_token": {"unit": "ms", "avg": 16.26}, "inter_token_latency": {"unit": "ms", "avg": 1.84},'
        ' "input_config": {"loadgen": {"concurrency": 64}}}',
        "a benchmark's result", "--time 1.84ms --of tpot or --time 16.26ms --of time_to_first_token_full",
    ),
    "sglang bench_serving, of two rates": (
        '{"backend": "sglang", "median_ttft_ms": 388.4, "median_tpot_ms": 21.2}\n'
        '{"backend": "sglang", "median_ttft_ms": 700.1, "median_tpot_ms": 31.2}\n',
        "a benchmark's result",
        "--time 31.2ms --of tpot (the last of 2 results) or --time 700.1ms --of ttft (the last of 2 results)",
    ),
    "sglang bench_serving, JSON, at a rate": (
        '{"request_rate": 4.0, "max_concurrency": null, "median_ttft_ms": 943.2, "median_tpot_ms": 60.1,'
        ' "concurrency": 40.55}\n',
        "a benchmark's result", "--time 60.1ms --of tpot",
    ),
    "vllm bench sweep, its summary": (
        "max_concurrency,request_rate,median_ttft_ms,median_tpot_ms\n1,inf,73.9,7.96\n64,inf,173.9,17.96\n",
        "a benchmark's result",
        "--time 17.96ms --of tpot (the last of 2 results) or "
        "--time 173.9ms --of time_to_first_token_full (the last of 2 results)",
    ),
    "vllm bench latency, printed": (
        "Avg latency: 2.9312 seconds\n50% percentile latency: 2.9123 seconds\n99% percentile latency: 3.1 seconds\n",
        "a benchmark's result", "--time 2.9123s --of static_batch_time",
    ),
    "vllm bench throughput, printed": (
        "Throughput: 12.34 requests/s, 5678.90 total tokens/s, 1234.56 output tokens/s\n",
        "a benchmark's result", "--time 6.4s, --tokens-per-second N or --mfu 41%",
    ),
    "InferenceX": (
        '[{"hw": "h200", "tp": 8, "conc": 64, "tput_per_gpu": 2500.1, "mean_ttft": 0.12, "median_ttft": 0.11,'
        ' "median_tpot": 9.1e-03, "median_itl": 0.0084, "median_e2el": 8.7}]',
        "a benchmark's result",
        "--time 9.1e-03s --of tpot or --time 0.11s --of time_to_first_token_full"
        " or --time 8.7s --of request_time_full",
    ),
    "vllm bench serve, so many requests in flight": (
        "Maximum request concurrency:             64\nMedian TTFT (ms):    118.02\nMedian TPOT (ms):   21.30\n",
        "a benchmark's result", "--time 21.30ms --of tpot or --time 118.02ms --of time_to_first_token_full",
    ),
    "vllm bench serve, JSON, one request at a time": (
        '{"max_concurrency": 1, "median_ttft_ms": 88.1, "median_tpot_ms": 11.2}\n',
        "a benchmark's result", "--time 11.2ms --of tpot or --time 88.1ms --of ttft",
    ),
    "sglang bench_serving, printed, so many requests in flight": (
        "Max request concurrency:                 64\nMedian E2E Latency (ms):   9120.55\nMedian TTFT (ms):  118.02\n",
        "a benchmark's result",
        "--time 118.02ms --of time_to_first_token_full or --time 9120.55ms --of request_time_full",
    ),
    "vllm bench serve, JSON, end to end": (
        '{"max_concurrency": 1, "median_ttft_ms": 88.1, "median_e2el_ms": 5700.5}\n',
        "a benchmark's result", "--time 88.1ms --of ttft or --time 5700.5ms --of e2e",
    ),
    "sglang bench_one_batch": (
        '{"run_name": "default", "prefill_latency": 0.812, "median_decode_latency": 0.0182, "total_latency": 3.12}',
        "a benchmark's result", "--time 0.0182s or --time 0.812s --of prefill_time",
    ),
    "trtllm-bench": (
        "Request Throughput (req/sec):                     43.2089\n"
        "Average time-to-first-token [TTFT] (ms):          52667.0339\n"
        "Average time-per-output-token [TPOT] (ms):        182.9639\n",
        "a benchmark's result", "--time 182.9639ms --of tpot or --time 52667.0339ms --of ttft",
    ),
    "sglang bench_one_batch, printed": (
        "Prefill. latency: 0.05470 s, throughput:   4679.52 token/s\n"
        "Decode 0. Batch size: 1, latency: 0.00664 s, throughput:    150.53 token/s\n"
        "Decode.  median latency: 0.00610 s, median throughput:    163.99 token/s\n",
        "a benchmark's result", "--time 0.00610s or --time 0.05470s --of prefill_time",
    ),
    "sglang bench_one_batch_server": (
        '{"batch_size": 16, "input_len": 1024, "output_len": 16, "latency": 1.52, "output_throughput": 300.2,'
        ' "last_ttft": 0.55}\n',
        "a benchmark's result", "--time 1.52s --of static_batch_time or --time 0.55s --of prefill_time",
    ),
    "trtllm-bench, its percentiles": (
        "Average time-to-first-token [TTFT] (ms):          52667.0339\n"
        "Average time-per-output-token [TPOT] (ms):        182.9639\n"
        "[TPOT] AVERAGE: 182.9639\n[TPOT] P50    : 204.0463\n[TPOT] P90    : 206.3863\n",
        "a benchmark's result", "--time 204.0463ms --of tpot or --time 52667.0339ms --of ttft",
    ),
    "trtllm-bench, its report": (
        '{"streaming_metrics": {"avg_ttft_ms": 118.2, "avg_tpot_ms": 8.84,'
        ' "tpot_percentiles": {"p50": 8.8, "p99": 9.9}, "ttft_percentiles": {"p50": 110.1, "p99": 150.0}}}',
        "a benchmark's result", "--time 8.8ms --of tpot or --time 110.1ms --of ttft",
    ),
    "TensorRT-LLM's iterations": (
        "".join(
            f"[RANK 0] iter = {n}, host_step_time = {time}ms, prev_device_step_time = 20.9ms, timestamp = 2026-11-01, "
            f"num_scheduled_requests: 64, states = {{'num_ctx_requests': 0, 'num_ctx_tokens': {prompts}, "
            "'num_generation_tokens': 64}\n"
            for n, time, prompts in ((1, 350.1, 8192), (2, 21.3, 0), (3, 21.1, 0), (4, 20.2, 0))
        ),
        "a server's log", "--time 21.1ms (the median of 3)",
    ),
    "aiperf, CSV": (
        "Metric,avg,min,max,p50,std\nInter Token Latency (ms),9.84,8,12,8.81,2\n"
        'Time to First Token (ms),"1,118.20",90,"1,900","1,010.10",11\n',
        "a benchmark's result", "--time 8.81ms --of tpot or --time 1010.1ms --of ttft",
    ),
    "aiperf, request by request": (
        "".join(
            f'{{"metrics": {{"time_to_first_token": {{"value": {first}, "unit": "ms"}},'
            f' "inter_token_latency": {{"value": {later}, "unit": "ms"}}}}}}\n'
            for first, later in ((118.2, 8.1), (90.5, 8.3), (900.1, 8.2))
        ),
        "a benchmark's result",
        "--time 8.2ms --of tpot (the median of 3) or --time 118.2ms --of ttft (the median of 3)",
    ),
    "inference-perf": (
        '{"successes": {"latency": {"request_latency": {"mean": 5.0, "median": 4.9},\n'
        ' "normalized_time_per_output_token": {"mean": 0.030, "median": 0.0195},\n'
        ' "time_per_output_token": {"mean": 0.0097, "min": 0.007, "median": 0.00947, "p90": 0.012},\n'
        ' "time_to_first_token": {"mean": 0.06, "median": 0.058}, "inter_token_latency": {"mean": 0.0097}}}}',
        "a benchmark's result", "--time 0.00947s --of tpot or --time 0.058s --of ttft",
    ),
    "latencies whose unit isn't told": (
        '{"concurrency": 1, "time_to_first_token": {"p50": 45.0}, "inter_token_latency": {"avg": 3.4, "p50": 3.2}}',
        "a benchmark's result", "--time 6.4s, --tokens-per-second N or --mfu 41%",
    ),
    "guidellm": (
        '{"metrics": {"time_to_first_token_ms": {\n "successful": {\n "mean": 187.52,\n "median": 109.1},'
        ' "total": {"median": 0}}, "inter_token_latency_ms": {"successful": {"mean": 11.99, "median": 11.62}},'
        ' "time_per_output_token_ms": {"successful": {"median": 12.9}}}}',
        "a benchmark's result", "--time 11.62ms --of tpot or --time 109.1ms --of ttft",
    ),
    "genai-perf, CSV": (
        'Metric,avg,min\nTime To First Token (ms),"1,410.2",88.1\nInter Token Latency (ms),21.7,18.2\n',
        "a benchmark's result", "--time 21.7ms --of tpot or --time 1410.2ms --of ttft",
    ),
    "genai-perf, JSON": (
        '{"time_to_first_token": {"unit": "ms", "avg": 410.2}, "inter_token_latency": {\n "unit": "ms",'
        '\n "avg": 21.7}}',
        "a benchmark's result", "--time 21.7ms --of tpot or --time 410.2ms --of ttft",
    ),
    "llama-bench, JSON": (
        '[{"build_commit": "8cf427ff", "n_prompt": 512, "n_gen": 0, "avg_ns": 72135640, "avg_ts": 7100.0},\n'
        '{"build_commit": "8cf427ff", "n_prompt": 0, "n_gen": 128, "avg_ns": 1085, "avg_ts": 117.9}]',
        "a result of llama-bench", "--time 72135640ns --of prefill_time or --tokens-per-second 117.9",
    ),
    "llama-bench, CSV": (
        'build_commit,n_prompt,n_gen,avg_ns,avg_ts\n"8cf427ff","512","0","72135640","7100.0"\n'
        '"8cf427ff","0","128","1085","117.9"\n',
        "a result of llama-bench", "--time 72135640ns --of prefill_time or --tokens-per-second 117.9",
    ),
    "llama-batched-bench": (
        "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n"
        "|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n"
        "|   128 |    128 |    1 |    256 |    0.108 |  1186.64 |    3.079 |    41.57 |    3.187 |    80.32 |\n",
        "a result of llama-bench", "--tokens-per-second 41.57",
    ),
    "llama.cpp's server": (
        "prompt eval time =     130.30 ms /    26 tokens (    5.01 ms per token,   199.54 tokens per second)\n"
        "       eval time =    1234.56 ms /   127 tokens (    9.72 ms per token,   102.87 tokens per second)\n",
        "a log of llama.cpp", "--time 9.72ms --of tpot or --time 130.30ms --of ttft",
    ),
    "Ollama": (
        "prompt eval rate:     199.85 tokens/s\neval count:           298 token(s)\n"
        "eval rate:            62.10 tokens/s\n",
        "a result of Ollama", "--tokens-per-second 62.10",
    ),
    "nccl-tests": (
        "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
        "           8             2     float     sum      -1    20.05    0.00    0.00      0\n"
        "   134217728      33554432     float     sum      -1    525.1  255.60  447.30      0\n",
        "a table of nccl-tests", "--case COLLECTIVE --time 525.1us (the last of 2 results)",
    ),
    "llama-bench, Markdown": (
        "| model | backend | ngl | test |   t/s |\n| ----- | ------- | --: | ---: | ----: |\n"
        "| qwen2 1.5B Q4_0 | CUDA   |  99 | pp512 | 13872.18 ± 126.93 |\n"
        "| qwen2 1.5B Q4_0 | CUDA   |  99 | tg128 | 235.16 ± 0.66 |\n",
        "a result of llama-bench", "--tokens-per-second 235.16",
    ),
    "vllm serve": (
        "Avg prompt throughput: 12440.8 tokens/s, Avg generation throughput: 1555.1 tokens/s, Running: 64 reqs",
        "a server's log", "--tokens-per-second 1555.1",
    ),
    "vllm serve, idle": (
        "Avg generation throughput: 0.0 tokens/s, Running: 0 reqs\n" * 2,
        "a server's log", "--time 6.4s, --tokens-per-second N or --mfu 41%",
    ),
    "vllm serve, until it idles": (
        "Avg generation throughput: 1555.1 tokens/s, Running: 64 reqs\n"
        "Avg generation throughput: 12.0 tokens/s, Running: 1 reqs\nAvg generation throughput: 0.0 tokens/s",
        "a server's log",
        "--tokens-per-second 1555.1 (the median of 2 rates, without those below half of the highest)",
    ),
    "vllm serve, prefills now and then": (
        "".join(f"Avg generation throughput: {rate} tokens/s\n" for rate in (3.1, 1302.2, 2210, 1290.4, 1315.9, 9)),
        "a server's log",
        "--tokens-per-second 1315.9 (the median of 6 rates, without those below half of the highest)",
    ),
    "sglang server": (
        "[2026-10-14 10:15:00 TP0] Decode batch. #running-req: 64, gen throughput (token/s): 1555.10, #queue-req: 0",
        "a server's log", "--tokens-per-second 1555.10",
    ),
    "vllm, a line for each engine": (
        "INFO Engine 000: Avg prompt throughput: 10.1 tokens/s, Avg generation throughput: 100.1 tokens/s, Running: 4\n"
        "INFO Engine 001: Avg prompt throughput: 10.1 tokens/s, Avg generation throughput: 90.1 tokens/s, Running: 4\n",
        "a server's log", "--tokens-per-second 90.1*ENGINES",
    ),
    "MLPerf Inference": (
        "MLPerf Results Summary\nScenario : Offline\nTokens per second: 20900.1\n",
        "a log of MLPerf", "--tokens-per-second 20900.1",
    ),
    "MLPerf Inference, a server": (
        "MLPerf Results Summary\nScenario : Server\nCompleted tokens per second    : 19900.55\n",
        "a log of MLPerf", "--tokens-per-second 19900.55",
    ),
}  # fmt: skip
