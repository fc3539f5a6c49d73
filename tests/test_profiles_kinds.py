"""Captures of servers that mix prefill and decode: which steps are taken, which are told, and how to ask for others."""

from __future__ import annotations

import pytest

from planner.errors import UserError
from planner.profiles.reading import read
from planner.profiles.step_kinds import phase, phase_of_kernels
from tests.commands import command, invoked
from tests.measure_encoder import Span, space
from tests.measure_traces import TRACES, real
from tests.test_profiles_torch import torch_event, torch_kernel
from tests.written_profiles import in_json

US = 1e-6


def served(marks, lasts, *, is_profiled=True, kernels=None):
    """A trace of steps of 100 us each, by the server's mark in each (or none) and what its kernel lasts in us."""
    events = []
    for n, (mark, last) in enumerate(zip(marks, lasts, strict=True)):
        at = 100 * n
        events += [torch_event("user_annotation", f"ProfilerStep#{n + 3}", at, 99)] if is_profiled else []
        events += [torch_event("user_annotation", mark.format(n=n + 1), at + 5, 60)] if mark else []
        name = kernels[n] if kernels else "gemm"
        events.append(torch_event("cuda_runtime", "cudaLaunchKernel", at + 10, 1, correlation=n))
        events.append(torch_kernel(name, at + 20, last, correlation=n))
    return {"traceEvents": events}


SERVERS = [
    ("execute_context_2({n})_generation_0(0)", "execute_context_0(0)_generation_8({n})"),
    ("execute_{n}_context_1(sq9sk9)_generation_0(sq0sk0)", "execute_{n}_context_0(sq0sk0)_generation_8(sq8sk{n})"),
    ("step[EXTEND bs=1 toks={n}]", "step[DECODE bs={n}]"),
    ("[Executor] _forward_step {n}: 1 ctx reqs, 0 gen reqs", "[Executor] _forward_step {n}: 0 ctx reqs, 8 gen reqs"),
    (
        "[Executor] _forward_step {n}: 1 ctx reqs, 96 ctx tokens, 0 gen reqs",
        "[Executor] _forward_step {n}: 0 ctx reqs, 0 ctx tokens, 8 gen reqs",
    ),
]


@pytest.mark.parametrize("is_profiled", [True, False], ids=["ProfilerStep", "marks alone"])
@pytest.mark.parametrize(
    ("prefill", "decode"), SERVERS, ids=["vllm", "vllm lengths", "sglang", "trtllm", "trtllm tokens"]
)
def test_prefill_and_decode_of_a_mixed_capture(tmp_path, prefill, decode, is_profiled):
    """Ten decode steps whose kernel takes 10 us and two prefills of 40: decode is taken, and prefill for the asking."""
    marks = [prefill if n in (0, 6) else decode for n in range(12)]
    lasts = [40 if n in (0, 6) else 10 for n in range(12)]
    path = in_json(tmp_path, served(marks, lasts, is_profiled=is_profiled))
    found = read(path)
    assert (phase(found.step_name), found.step_times) == ("decode", pytest.approx([10 * US] * 10))
    (note,) = found.notes
    assert note.startswith("steps of several kinds: decode ")
    assert " x 10 is taken, not prefill " in note
    assert note.endswith(" x 2: --steps prefill")
    asked = read(path, asked="prefill")
    assert (phase(asked.step_name), asked.step_times) == ("prefill", pytest.approx([40 * US] * 2))
    assert read(path, asked="decode").step_times == found.step_times


def test_all_steps_of_the_profiler_are_one_kind_for_the_asking(tmp_path):
    """By their own name, with their own numbers: prefill of 40 us and decode of 10."""
    path = in_json(tmp_path, served(["step[EXTEND bs=1]", "step[DECODE bs=1]", "step[DECODE bs=1]"], [40, 10, 10]))
    found = read(path, asked="ProfilerStep")
    assert (found.step_name, found.step_times) == ("ProfilerStep#", pytest.approx([40 * US, 10 * US, 10 * US]))
    assert [step.index for step in found.devices[0].steps] == [3, 4, 5]


def test_three_kinds_of_which_none_is_most_of_the_time(tmp_path):
    """40, 30 and 30 % of the kernels' time: the one of the most is taken, and each of the others can be asked for."""
    marks = [f"step[ {each} bs=4 ]" for each in ("EXTEND", "DECODE", "MIXED", "DECODE", "DECODE")]
    path = in_json(tmp_path, served(marks, [40, 10, 30, 10, 10], is_profiled=False))
    assert read(path).step_times == pytest.approx([40 * US])
    assert read(path, asked="mixed").step_times == pytest.approx([30 * US])
    assert read(path, asked="decode").step_times == pytest.approx([10 * US] * 3)


def test_steps_of_the_profiler_are_told_apart_by_kernels_where_no_mark_does(tmp_path):
    """FlashInfer names its kernels of prefill and of decode; the profiler's numbers of the steps stay."""
    prefill, decode = (f"void flashinfer::Batch{each}WithPagedKVCacheKernel<x>" for each in ("Prefill", "Decode"))
    path = in_json(tmp_path, served([""] * 4, [50, 20, 20, 20], kernels=[prefill, decode, decode, decode]))
    found = read(path)
    assert [step.index for step in found.devices[0].steps] == [4, 5, 6]
    assert found.step_times == pytest.approx([20 * US] * 3)
    assert [step.index for step in read(path, asked="prefill").devices[0].steps] == [3]


@pytest.mark.parametrize(
    ("kernels", "says"),
    [
        (["gemm", "void vllm::paged_attention_v2_kernel<x>"], "decode"),
        (["fmhaSm100Kernel_QFp16KvFp16HQk128PagedKvMaskDenseStaticSwapsMmaAbForGeneration"], "decode"),
        (["fmhaSm103aKernel_QkvE4m3OBfloat16HQk576HV512PagedKvDenseP32VarSeqQ16Kv128StaticSwapsAbForGen"], "decode"),
        (["_ZN5aiter32pa_bf16_pertokenFp8_gqa8_2tg_4wE"], "decode"),
        (["pa_bf16_noquant_gqa8_1tg_4w"], "decode"),
        (["fmhaSm100fKernel_QkvBfloat16H128PagedKvCausalVarSeqQ128Kv128PersistentContext"], "prefill"),
        (["void flash::flash_fwd_splitkv_mla_kernel<x>"], "decode"),
        (["_fwd_grouped_kernel_stage1", "_fwd_kernel_stage2"], "decode"),
        (["void tensorrt_llm::kernels::masked_multihead_attention_kernel<x>"], "decode"),
        (["BatchPrefillWithRaggedKVCacheKernel", "BatchDecodeWithPagedKVCacheKernel"], "mixed"),
        (["void flash::flash_fwd_splitkv_kernel<x>", "decoder_layer_norm", "cudnn_generated_fort_native_sdpa"], ""),
    ],
)
def test_the_phase_of_kernels(kernels, says):
    """FlashInfer, vLLM, SGLang's Triton, FlashMLA, AITER and TensorRT-LLM name them; flash attention is one in both."""
    assert phase_of_kernels(kernels) == says


def test_batches_within_a_step_of_the_profiler(tmp_path):
    """A step that a person marked around a whole request stays one, and decode steps within it can be asked for."""
    document = served(["step[EXTEND bs=1]", *["step[DECODE bs=1]"] * 3], [40, 10, 10, 10], is_profiled=False)
    document["traceEvents"].append(torch_event("user_annotation", "ProfilerStep#2", 0, 400))
    path = in_json(tmp_path, document)
    assert read(path).step_times == pytest.approx([310 * US])
    assert read(path, asked="decode").step_times == pytest.approx([10 * US] * 3)


def programs(*runs):
    """A trace.json of a TPU with runs of programs, each a name, a begin and what it lasts in us."""
    names = [("process_name", {}, "/device:TPU:0"), ("thread_name", {"tid": 1}, "XLA Modules"),
             ("thread_name", {"tid": 2}, "XLA Ops")]  # fmt: skip
    events = [{"ph": "M", "pid": 3, "name": name, **where, "args": {"name": told}} for name, where, told in names]
    for name, at, last in runs:
        for thread, what in ((1, name), (2, "fusion.1")):
            events.append({"ph": "X", "pid": 3, "tid": thread, "name": what, "ts": at, "dur": last, "args": {}})
    return {"traceEvents": events}


MIXED = (("jit_prefill(8)", 0, 900), *(("jit_decode(7)", 1000 + 100 * n, 50) for n in range(10)))


def test_the_programs_of_maxtexts_engine(tmp_path):
    """Its decode step is a program that is called generate; a person's annotation of that name is around a request."""
    runs = [("jit__prefill_jit(8)", 0, 90), *(("jit__generate_jit(7)", 100 + 100 * n, 50) for n in range(6))]
    path = in_json(tmp_path, programs(*runs))
    assert read(path, asked="decode").step_times == pytest.approx([50 * US] * 6)
    assert (phase("jit_generate"), phase("generate"), phase("jit_generated_fn")) == ("decode", "", "")


def test_a_program_that_ran_once_can_be_asked_for(tmp_path):
    """Of a server's programs the one that repeats is taken; its prefill by name, or by a part of it."""
    path = in_json(tmp_path, programs(*MIXED))
    assert read(path).stepping == "jit_decode(7)" or read(path).found == "whole"
    for asked in ("decode", "JIT_DEC", "jit_decode(7)"):
        assert read(path, asked=asked).step_times == pytest.approx([50 * US] * 10)
    found = read(path, asked="prefill")
    assert (found.stepping, found.step_times) == ("jit_prefill(8)", pytest.approx([900 * US]))


def test_hosts_that_are_merged_under_one_process_are_refused(tmp_path):
    """A core runs one program at a time: two hosts' runs of 50 us, 20 us apart, are of no one device."""
    runs = sorted(
        (("jit_step(7)", 100 * n + 20 * host, 50) for n in range(5) for host in (0, 1)), key=lambda run: run[1]
    )
    path = in_json(tmp_path, programs(*runs))
    code, said = invoked("ingest", path)
    assert (code, said.count("\n")) == (2, 1), said
    assert "a.json: programs run at the same time on one device: this is merged of several hosts" in said


def test_a_program_is_asked_for_as_a_shell_takes_it(tmp_path):
    """Programs of one name differ in their id, in brackets, which a shell wants quoted."""
    path = in_json(tmp_path, programs(*((f"jit_f({7 + n % 2})", 100 * n, 50 + n % 2) for n in range(6))))
    assert read(path).notes == ("steps of several kinds: jit_f(8) x 3 is taken, not jit_f(7) x 3: --steps 'jit_f(7)'",)


def test_each_call_that_a_tpus_profiler_marks_is_of_its_program(tmp_path):
    """A server's capture whose line of steps has every call: the note tells the programs, and both can be asked for."""
    document = programs(
        *(run for n in range(4) for run in (("jit_prefill(8)", 300 * n, 90), ("jit_decode(7)", 300 * n + 200, 50)))
    )
    events = document["traceEvents"]
    events.append({"ph": "M", "pid": 3, "tid": 9, "name": "thread_name", "args": {"name": "Steps"}})
    for number, run in enumerate([each for each in events if each.get("tid") == 1 and each["ph"] == "X"]):
        events.append({**run, "tid": 9, "name": str(number)})
    path = in_json(tmp_path, document)
    found = read(path)
    assert (found.found, found.step_name, found.step_times) == ("line", "jit_prefill(8)", pytest.approx([90 * US] * 4))
    assert found.notes[0].endswith("is taken, not decode jit_decode(7) x 4: --steps decode")
    assert read(path, asked="decode").step_times == pytest.approx([50 * US] * 4)


def test_steps_of_evaluation_on_a_tpus_line_of_steps_are_none_of_training(tmp_path):
    """The line numbers both alike: eight steps of 900 us, two evaluations of 300; each runs a second program too."""
    runs, steps, at = [], [], 0
    for kind in ["train"] * 4 + ["eval"] * 2 + ["train"] * 4:
        lasts, number = (900, 7) if kind == "train" else (300, 8)
        runs += [(f"jit_{kind}_step({number})", at, lasts), ("jit_metrics(9)", at + lasts + 5, 10)]
        steps.append((at, lasts + 15))
        at += lasts + 100
    document = programs(*runs)
    events = document["traceEvents"]
    events.append({"ph": "M", "pid": 3, "tid": 9, "name": "thread_name", "args": {"name": "Steps"}})
    for number, (begin, lasts) in enumerate(steps):
        events.append({"ph": "X", "pid": 3, "tid": 9, "name": str(number), "ts": begin, "dur": lasts, "args": {}})
    path = in_json(tmp_path, document)
    found = read(path)
    assert (found.found, found.step_times) == ("line", pytest.approx([915 * US] * 8))
    assert found.step_parts.compute == pytest.approx(910 * US)
    assert found.notes == (
        "steps of several kinds: jit_train_step(7) x 8 is taken, not jit_eval_step(8) x 2: --steps 'jit_eval_step(8)'",
    )


def test_the_command_takes_the_kind_of_steps(tmp_path):
    """It prints which were found and taken; a kind that isn't there is one line with those that are."""
    runs = [("jit_prefill(8)", 2000 * n, 900) for n in range(2)]
    runs += [("jit_decode(7)", 3000 + 2000 * (n // 15) + 60 * (n % 15), 50) for n in range(30)]
    path = in_json(tmp_path, programs(*sorted(runs, key=lambda run: run[1])))
    assert "prefill jit_prefill(8) x 2 is taken, not decode jit_decode(7) x 30: --steps decode" in command(
        "ingest", path
    )
    assert "jit_decode(7)" in command("ingest", path, "--steps", "decode").partition("spread")[0]
    code, said = invoked("ingest", path, "--steps", "train")
    assert (code, said.count("\n")) == (2, 1), said
    assert "no step of this profile is one of 'train': it has prefill jit_prefill(8) x 2, decode jit_decode(7)" in said


def test_files_that_a_server_writes_for_each_phase(tmp_path):
    """SGLang profiles prefill and decode into files of their own, side by side, which are no two hosts of one run."""
    for stage, last in (("EXTEND", 40), ("DECODE", 10)):
        for rank in range(2):
            document = served([""] * 3, [last + rank] * 3, is_profiled=False)
            in_json(tmp_path, document, f"1755.5-TP-{rank}-{stage}.trace.json")
    with pytest.raises(UserError, match=r"by their names these files are of decode and prefill.*--steps decode"):
        read(tmp_path)
    found = read(tmp_path, asked="decode")
    assert (len(found.paths), found.devices[0].busy) == (2, pytest.approx(30 * US))
    assert all("DECODE" in path for path in found.paths)


def test_marks_of_training_and_evaluation_of_a_gpu(tmp_path):
    """JAX's marks on the host are of two kinds: that of the most time is taken, and the other for the asking."""
    marks = [("train", 0, 3), ("train", 100, 4), ("train", 200, 5), ("eval", 300, 6), ("eval", 400, 7)]
    planes = {
        "/device:GPU:0": {
            "Stream #1": [
                Span("gemm", (at + 20) * 10**6, (30 if name == "train" else 50) * 10**6, {"correlation_id": number})
                for name, at, number in marks
            ],
        },
        "/host:CPU": {
            "python": [Span(name, at * 10**6, 90 * 10**6, {"step_num": number}) for name, at, number in marks],
            "launches": [Span("cuLaunchKernel", (at + 5) * 10**6, 10**6, {"correlation_id": n}) for _, at, n in marks],
        },
    }
    path = tmp_path / "h.xplane.pb"
    path.write_bytes(space(planes))
    found = read(path)
    assert (found.step_name, found.step_times) == ("train", pytest.approx([30 * US] * 3))
    assert found.notes == ("steps of several kinds: train x 3 is taken, not eval x 2: --steps eval",)
    assert read(path, asked="eval").step_times == pytest.approx([50 * US] * 2)


@real
def test_a_tools_table_tells_no_kind_of_its_steps():
    """It numbers them: one who asks for decode isn't given all of them."""
    (path,) = (TRACES / "golden").glob("*overview_page*")
    for asked in (path, TRACES / "golden"):
        with pytest.raises(UserError, match="no step of this profile is one of 'decode': none tells its kind"):
            read(asked, asked="decode")


def test_files_whose_main_kinds_differ_are_refused_until_one_is_asked_for(tmp_path):
    """One rank's prefill is no step beside another's decode: a median over both is of neither."""
    marks = ["step[EXTEND bs=1]", "step[DECODE bs=1]"]
    paths = []
    for rank, lasts in enumerate(((40, 30), (30, 40))):
        told = {"distributedInfo": {"rank": rank}, **served(marks, lasts)}
        paths.append(in_json(tmp_path, told, f"rank{rank}.json"))
    with pytest.raises(UserError, match="decode on GPU 0 of rank 1 and prefill on GPU 0 of rank 0; say which you mean"):
        read(*paths)
    assert read(*paths, asked="prefill").step_times == pytest.approx([40 * US])


def unmarked(*batches, run, tells=""):
    """A server's trace without marks: for each batch a Python call of `run`, one that tells its phase, and a kernel.

    Each batch is that call's name and what its kernel lasts in us.
    """
    events = []
    for n, (told, lasts) in enumerate(batches):
        calls = [
            ("srv/worker.py(12): loop", 0, 99),
            (run, 5, 60),
            (f"srv/{told}", 6, 40),
            ("srv/mlp.py(7): forward", 7, 5),
        ]
        events += [torch_event("python_function", name, 100 * n + at, dur) for name, at, dur in calls if name != "srv/"]
        events.append(torch_event("cuda_runtime", "cudaGraphLaunch", 100 * n + 10, 1, correlation=n))
        events.append(torch_kernel("gemm", 100 * n + 20, lasts, correlation=n))
    return {"traceEvents": events}


def test_the_calls_that_run_a_servers_batches_are_steps_without_marks(tmp_path):
    """SGLang before it marked its batches: a scheduler's calls, and by what they call the phase of each."""
    run = "/sgl/python/sglang/srt/managers/scheduler.py(1703): run_batch"
    prefill, decode = "model_runner.py(99): forward_extend", "model_executor/cuda_graph_runner.py(735): replay"
    path = in_json(tmp_path, unmarked((prefill, 40), *[(decode, 20)] * 5, run=run))
    found = read(path)
    assert found.step_times == pytest.approx([20 * US] * 5)
    assert found.notes == (
        "steps of several kinds: decode x 5 is taken, not prefill forward_extend x 1: --steps prefill",
    )
    assert read(path, asked="prefill").step_times == pytest.approx([40 * US])
    run = "vllm/v1/worker/gpu_worker.py(313): execute_model"
    found = read(in_json(tmp_path, unmarked(*[("", 20)] * 5, run=run)))
    assert (found.step_name, found.step_times) == ("execute_model", pytest.approx([20 * US] * 5))
