"""The parts of a step on profiles made by the tests, whose times are counted by hand; and properties of the sweep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.profiles import step_parts
from planner.profiles.profile import Parts, Step
from planner.profiles.reading import read
from planner.profiles.step_parts import collective, part
from tests.measure_encoder import Span, space

US = 1_000_000  # ps
HOST_COPY = "f32[8]{0} copy-done((f32[8]{0}, f32[8]{0:S(5)}, u32[]) %copy-start)"


@pytest.fixture
def profile(tmp_path):
    """Read planes that are written to a file."""

    def written(planes, stats=None):
        path = tmp_path / "host.xplane.pb"
        path.write_bytes(space(planes, stats))
        return read(path)

    return written


def op(name, begin, microseconds, category="", text="f32[8]{0} fusion(f32[8]{0} %p)", program=7):
    """An operation of a TPU, whose name is its HLO text."""
    shared = {"hlo_category": category, "program_id": program}
    return Span(f"%{name} = {text}", begin * US, microseconds * US, {}, shared)


def in_us(parts: Parts) -> tuple[float, ...]:
    """Compute, communication, copy, wait and gap in microseconds."""
    found = (parts.compute, parts.communication, parts.copy, parts.wait, parts.gap)
    return tuple(round(each * 1e6, 6) for each in found)


def test_exposed_time_of_asynchronous_operations(profile):
    """Starts and dones beside compute: what nothing hides is exposed, and the parts add up to each step's span.

    By hand, step 0 of 100 us: fusions 5-35, 40-60 and 70-90; the all-gather's start 0-5 and done 35-40; the done of a
    copy from the host 60-70; the last 10 idle. Step 1 of 50 us: a fusion 0-20, a prefetch awaited 20-30, a collective
    filed under custom fusion 30-45, the last 5 idle.
    """
    gathers = "(bf16[4]{0}, bf16[8]{0}) all-gather-start(bf16[4]{0} %x), replica_groups=[2,2]<=[4]"
    found = profile({
        "/device:TPU:0": {
            "XLA Modules": [Span("jit_step(7)", 0, 100 * US), Span("jit_step(7)", 200 * US, 50 * US)],
            "XLA Ops": [
                op("all-gather-start.1", 0, 5, "all-gather", gathers),
                op("fusion.1", 5, 30, "loop fusion"),
                op("all-gather-done.1", 35, 5, "all-gather", "bf16[8]{0} all-gather-done((bf16[4]{0}, bf16[8]{0}) %s)"),
                op("fusion.2", 40, 20, "convolution fusion"),
                op("copy-done.1", 60, 10, "copy-done", HOST_COPY),
                op("fusion.3", 70, 20, "loop fusion"),
                op("fusion.1", 200, 20, "loop fusion"),
                op("slice-done.4", 220, 10, "async-done", "f32[8]{0:S(1)} async-done((f32[8]{0}) %s)"),
                op("async-collective-done.2", 230, 15, "custom fusion"),
            ],
        },
    })  # fmt: skip
    (device,) = found.devices
    assert found.found == "module"
    assert [in_us(step.parts) for step in device.steps] == [(70, 10, 10, 0, 10), (20, 15, 0, 10, 5)]
    assert [step.parts.span for step in device.steps] == pytest.approx([100e-6, 50e-6])
    assert in_us(device.parts) == (90, 25, 10, 10, 115)
    assert device.gaps[0].seconds == pytest.approx(110e-6)
    assert (device.gaps[0].before, device.gaps[0].after) == ("fusion.3", "fusion.1")


def test_what_is_under_way_is_exposed_where_nothing_computes(profile):
    """An asynchronous all-reduce from 10 to 80 beside compute until 50 and from 70: exposed are the 20 between."""
    started = op("all-reduce-start.1", 10, 70, "all-reduce", "f32[8]{0} all-reduce-start(f32[8]{0} %p)")
    found = profile({
        "/device:TPU:0": {
            "XLA Ops": [op("fusion.1", 0, 50), op("fusion.2", 70, 30)],
            "Async XLA Ops": [started],
        },
    })  # fmt: skip
    (device,) = found.devices
    assert in_us(device.parts) == (80, 20, 0, 0, 0)
    assert device.busy == pytest.approx(80e-6)
    assert [each.name for each in device.operations] == ["fusion.1", "fusion.2"]
    assert (found.found, len(found.step_times)) == ("whole", 1)
    assert "n = 1" in found.lacks["steps"]


def test_a_loop_hides_nothing_of_its_body(profile):
    """A while op holds its body: the collective in it is exposed, and the loop's own time is what the body leaves."""
    found = profile({
        "/device:TPU:0": {
            "XLA Ops": [
                op("while.1", 0, 100, "while", "(f32[8]{0}) while((f32[8]{0}) %t), condition=%c, body=%b"),
                op("fusion.1", 5, 40),
                op("all-reduce.1", 50, 30, "all-reduce", "f32[8]{0} all-reduce(f32[8]{0} %p)"),
            ],
        },
    })  # fmt: skip
    (device,) = found.devices
    assert in_us(device.parts) == (70, 30, 0, 0, 0)
    own = {each.name: round(each.self_time * 1e6) for each in device.operations}
    assert own == {"while.1": 30, "fusion.1": 40, "all-reduce.1": 30}


@pytest.mark.parametrize(
    ("name", "category", "opcode", "expected"),
    [
        ("async-collective-start.3", "custom fusion", "fusion", "communication"),
        ("fusion.19.in_megacore_fusion", "all-reduce-scatter fusion", "fusion", "communication"),
        ("psum.12", "all-reduce", "all-reduce", "communication"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)", "", "", "communication"),
        ("void vllm::cross_device_reduce_1stage<__hip_bfloat16, 8>", "", "", "communication"),
        ("void mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>", "", "", "communication"),
        ("mscclKernel_Sum_hip_bfloat16_Simple_false(ncclDevComm*)", "", "", "communication"),
        ("mscclKernel_Sum_half_LL_false", "", "", "communication"),
        ("void uccl::internode_ll::dispatch<false, 7168>", "", "", "communication"),
        ("void hybrid_ep::dispatch_kernel<X>", "", "", "communication"),
        ("void nixl_ep::ep_kernels::combine<true>", "", "", "communication"),
        ("EpCombineInterNodeV1Kernel_bf16", "", "", "communication"),
        ("void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<8>", "", "", "communication"),
        ("void moeA2APrepareDispatchKernel", "", "", "compute"),
        ("void pplx::all2all::dispatchKernel<x>", "", "", "communication"),
        ("moe_a2a_combine", "", "", "communication"),
        ("kuserbuffers_pushrecv(int, int, int*)", "", "", "communication"),
        ("void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>", "", "", "communication"),
        (
            "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>",
            "",
            "",
            "compute",
        ),
        (
            "void cutlass::device_kernel<GemmUniversal<cutlass::gemm::collective::CollectiveMma<4>>>",
            "",
            "",
            "compute",
        ),
        ("all_gather_matmul.1", "custom-call", "custom-call", "compute"),
        ("collective_matmul.3", "custom-call", "custom-call", "compute"),
        ("fused_allgather_grouped_gemm", "", "", "compute"),
        ("all_gather_matmul.2", "all-gather", "all-gather", "communication"),
        ("collective_permute_fusion.2", "loop fusion", "fusion", "communication"),
        ("_Z34ncclDevKernel_AllReduce_Sum_f16_LL", "", "", "communication"),
        ("triton_poi_fused_all_reduce_0", "", "", "compute"),
        ("triton_red_fused__to_copy_add_all_reduce_mean_5", "", "", "compute"),
        ("CopyHostToDevice", "", "", "copy"),
        ("CopyDeviceToHost", "", "", "copy"),
        ("CopyDeviceToDevice", "", "", "copy"),
        ("Memcpy DtoH (Device -> Pinned)", "", "", "copy"),
        ("Memcpy PtoP (Device -> Device)", "", "", "communication"),
        ("copy_d2h_async", "", "", "copy"),
        ("void im2col_batch2d_kernel", "", "", "compute"),
        ("send-done.1", "", "send-done", "communication"),
        ("fusion.733", "convolution fusion", "fusion", "compute"),
        ("dynamic-update-slice.33", "dynamic-update-slice", "dynamic-update-slice", "compute"),
        ("MemcpyH2D", "", "", "copy"),
        ("MemcpyD2D", "", "", "copy"),
        ("memset", "", "", "compute"),
        ("__amd_rocclr_fillBufferAligned.kd", "", "", "compute"),
        ("infeed.1", "infeed", "infeed", "copy"),
        ("sender_fusion.2", "loop fusion", "fusion", "compute"),
        ("reduce.5", "reduce", "reduce", "compute"),
        ("copy.1", "data formatting", "copy", "compute"),
    ],
)
def test_parts_by_name_category_and_opcode(name, category, opcode, expected):
    """Any of the three tells that an operation communicates or copies; matmuls with a fused collective compute."""
    assert part(name, category, opcode) == expected


def test_kinds_of_collectives():
    """The opcode is the surest: a fusion that is named after what it feeds has the kind of its opcode."""
    assert collective("ncclKernel_AllGather_RING_LL_Sum_int8_t") == "all-gather"
    assert collective("all-reduce_fusion", "", "reduce-scatter") == "reduce-scatter"
    assert collective("ppermute.3", "collective-permute", "collective-permute-start") == "permute"
    assert collective("add_reduce_fusion", "loop fusion", "fusion") == ""


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.integers(0, 4)), max_size=12)


@given(SPANS)
def test_every_moment_counts_once_as_the_first_that_covers_it(spans):
    """Lengths of all labels against a set of moments, and they add up to the span."""
    begin = np.array([each[0] for each in spans], np.int64)
    end = begin + np.array([each[1] for each in spans], np.int64)
    layers = np.array([each[2] for each in spans], np.int8)
    found = step_parts.segments(begin, end, layers, np.array([0, 100]))
    lengths = found.within(np.array([0]), np.array([100]))[0]
    wanted = [0] * 6
    for moment in range(100):
        wanted[min((layer for low, long, layer in spans if low <= moment < low + long), default=step_parts.GAP)] += 1
    assert lengths.tolist() == wanted
    order = np.argsort(begin, kind="stable")
    assert step_parts.union(begin[order], end[order]) == sum(wanted[:5])
    merged = step_parts.merged(begin[order], end[order])
    assert (merged[1] - merged[0]).sum() == sum(wanted[:5])
    assert (merged[0][1:] > merged[1][:-1]).all()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=1, max_size=10))
def test_self_times_of_nested_operations_add_up_to_their_union(spans):
    """Where each lies wholly in another or beside it, own times are the time in which any runs."""
    nested: list[tuple[int, int]] = []
    for low, long in spans:
        if all(
            low + long <= b or low >= e or (low >= b and low + long <= e) or (low <= b and low + long >= e)
            for b, e in nested
        ):
            nested.append((low, low + long))
    nested = sorted(set(nested), key=lambda each: (each[0], -each[1]))
    begin, end = np.array(nested, np.int64).T
    own = step_parts.self_times(begin, end, np.ones(len(begin), bool))
    assert own.sum() == step_parts.union(begin, end)


def test_pieces_add_up_as_the_whole(profile, monkeypatch):
    """A recording that is added up in many pieces gives what it gives at once."""
    from planner.profiles import summary, xspace

    spans = [op(f"fusion.{n % 7}", 3 * n, 2, "loop fusion") for n in range(500)]
    spans += [op(f"all-reduce.{n % 3}", 3 * n + 2, 1, "all-reduce") for n in range(0, 500, 2)]
    spans.sort(key=lambda span: span.offset_ps)
    modules = [Span("jit_step(7)", 150 * n * US, 150 * US) for n in range(10)]
    planes = {"/device:TPU:0": {"XLA Modules": modules, "XLA Ops": spans}}
    whole = profile(planes)
    monkeypatch.setattr(summary, "_PIECE", 8)
    monkeypatch.setattr(xspace, "BLOCK", 256)
    pieces = profile(planes)
    assert [in_us(step.parts) for step in pieces.devices[0].steps] == [in_us(s.parts) for s in whole.devices[0].steps]
    assert in_us(pieces.devices[0].parts) == in_us(whole.devices[0].parts) == (1000, 250, 0, 0, 250)
    assert pieces.devices[0].operations == whole.devices[0].operations
    planes["/device:TPU:0"]["XLA Ops"] = spans[250:] + spans[:250]
    unsorted = profile(planes)
    assert [in_us(step.parts) for step in unsorted.devices[0].steps] == [in_us(s.parts) for s in whole.devices[0].steps]
    assert unsorted.devices[0].busy == whole.devices[0].busy
    assert [gap.seconds for gap in pieces.devices[0].gaps] == pytest.approx(
        [gap.seconds for gap in whole.devices[0].gaps]
    )


def test_a_step_that_the_capture_cuts_off_is_none(profile):
    """Of six runs the first has its last 30 us, the last its first 20: the step is that of the four whole ones."""
    at, modules, operations = 0, [], []
    for lasts in (30, 100, 104, 100, 96, 20):
        modules.append(Span("jit_step(7)", at * US, lasts * US))
        operations.append(op("fusion.1", at, lasts - 10))
        at += lasts + 5
    found = profile({f"/device:TPU:{n}": {"XLA Modules": modules, "XLA Ops": operations} for n in range(2)})
    assert found.step_times == pytest.approx([100e-6, 104e-6, 100e-6, 96e-6])
    assert in_us(found.step_parts) == (90, 0, 0, 0, 10)
    assert found.notes == ("4 steps at an end of the capture are cut off, and don't count",)


@pytest.mark.parametrize(("once", "seconds"), [(0, [10] * 4), (100, [10] * 4), (1000, [1120])])
def test_steps_are_runs_of_what_repeats(profile, once, seconds):
    """A prefill before four steps of decoding, or what ran once, is no step; a long program with its helpers is."""
    runs = [Span("jit_prefill(1)", 0, once * US)] if once else []
    runs += [Span("jit_decode(7)", (once + 20 + 30 * n) * US, 10 * US) for n in range(4)]
    ops = [op("fusion.1", (each.offset_ps) // US, each.duration_ps // US) for each in runs]
    found = profile({"/device:TPU:0": {"XLA Modules": runs, "XLA Ops": ops}})
    assert [round(each * 1e6) for each in found.step_times] == seconds
    assert found.stepping == ("jit_decode(7)" if len(seconds) > 1 else "")


def test_steps_of_one_length_have_no_spread():
    """Begins are far from 0 in a long capture: what is lost of a difference there is no time."""
    parts_of = Parts(0.1)
    times = [Step(n, at, at + 0.1, "marker", parts_of).seconds for n, at in enumerate((0.3, 7.7, 123.4))]
    assert len(set(times)) == 1
