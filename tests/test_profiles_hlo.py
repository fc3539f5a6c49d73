"""HLO instructions from their text and their bytes, and matmuls recognised by their sizes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.profiles import wire, xla
from planner.profiles.hlo_text import dot_flops, parse, size
from planner.profiles.profile import Operation, Shape
from planner.profiles.recognition import is_attention, matmul, recognised
from tests.measure_encoder import _message, _number

BRACKETS = str.maketrans("{}", "[]")


def test_a_fusion_of_a_tpu():
    """Layouts with tiles, memory spaces and comments are no opcode and no shapes."""
    text = (
        "%fusion.3 = (bf16[1,512]{1,0:T(8,128)(2,1)S(1)}, /*index=1*/u32[]{:S(2)}) "
        "fusion(bf16[1,64]{1,0:T(8,128)} %a.1, s32[]{:T(128)S(6)} %b), kind=kOutput, calls=%fused_computation.3"
    )
    found = parse(text)
    assert (found.name, found.opcode) == ("fusion.3", "fusion")
    assert [str(shape) for shape in found.result] == ["bf16[1,512]", "u32[]"]
    assert [str(shape) for shape in found.operands] == ["bf16[1,64]", "s32[]"]


@pytest.mark.parametrize(
    ("text", "flops"),
    [
        ("%d = f32[8,4]{1,0} dot(f32[8,2]{1,0} %a, f32[2,4]{1,0} %b), lhs_contracting_dims={1}", 128),
        ("%d = f32[3,8,4] dot(f32[3,2,8] %a, f32[3,2,4] %b), lhs_batch_dims={0}, lhs_contracting_dims={1}", 384),
        ("%c = f32[1,6,6,16] convolution(f32[1,8,8,4] %a, f32[3,3,4,16] %b), dim_labels=b01f_01io->b01f", 41472),
        ("%a = f32[8] add(f32[8] %x, f32[8] %y)", None),
    ],
)  # fmt: skip
def test_flops_from_text(text, flops):
    """Dots and convolutions: two for each multiplication; nothing for what the text doesn't tell."""
    assert dot_flops(parse(text)) == flops


@pytest.mark.parametrize(
    ("groups", "expected", "joined"),
    [("replica_groups=[4,2]<=[8]", 2, 8), ("replica_groups={{0,1,2},{3,4,5}}", 3, 6),
     ("replica_groups={{0}}", 1, 1), ("replica_groups={}", None, None)],
)  # fmt: skip
def test_group_sizes(groups, expected, joined):
    """Devices of a group and of all, as an iota of groups x devices or listed; none of one that is all devices."""
    found = parse(f"%r = f32[8]{{0}} all-reduce(f32[8]{{0}} %x), channel_id=1, {groups}, to_apply=%add")
    assert (found.group_size, found.joined) == (expected, joined)


def test_sizes_of_types():
    """Bytes of arrays of whole and parts of bytes."""
    shapes = [Shape("bf16", (2, 3)), Shape("s4", (4,)), Shape("f8e4m3fn", (5,)), Shape("pred", (3,)), Shape("f32", ())]
    assert [size(shape) for shape in shapes] == [12, 2, 5, 3, 4]


@given(st.text(max_size=80))
def test_any_text_is_an_instruction_or_none(text):
    """Nothing that a profile may hold breaks the reader."""
    parse(text)
    parse("%a = " + text)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_program_or_damaged(data):
    """Bytes that are no HloProto raise what the readers expect of damaged bytes."""
    try:
        xla.instructions(data)
    except (*wire.DAMAGED, KeyError):
        return


def op(flops, result, *operands, category="convolution fusion"):
    """An operation with these shapes."""
    shapes = [Shape("bf16", dims) for dims in operands]
    return Operation(
        "f", "", category, "fusion", "compute", 1, 1.0, 1.0, 1.0, flops, None, (Shape("bf16", result),), tuple(shapes)
    )


def kernel(name, result, *operands):
    """A Pallas kernel, whose FLOPs nobody tells."""
    return replace(op(None, result, *operands, category="custom-call"), name=name, opcode="custom-call")


@pytest.mark.parametrize(
    ("operation", "sizes"),
    [
        (op(2 * 64 * 128 * 256, (64, 256), (64, 128), (128, 256)), (64, 128, 256, 1)),
        (op(2 * 64 * 128 * 256 * 1.02, (64, 256), (256, 128), (64, 128)), (64, 128, 256, 1)),  # with an epilogue
        (op(2 * 64 * 128 * 256, (1, 64, 256), (64, 1, 256), (256, 128)), (64, 128, 256, 1)),  # gate x up within
        (op(2 * 4 * 64 * 32 * 16, (4, 64, 16), (4, 64, 32), (4, 32, 16)), (64, 32, 16, 4)),
        (op(2 * 4000 * 4096 * 4096, (4000, 4096), (4000, 4096), (4096, 4096)), (4000, 4096, 4096, 1)),
        (op(2 * 64 * 128 * 256 * 1.05, (64, 256), (64, 128), (128, 256)), None),
        (op(2 * 64 * 128 * 256 * 0.9, (64, 256), (64, 128), (128, 256)), None),
        (op(64 * 256, (64, 256), (64, 256), category="loop fusion"), None),
        (op(None, (64, 256), (64, 128), (128, 256)), None),
        (kernel("quantized_matmul_kernel_8", (64, 256), (64, 128), (256, 128), (2, 1, 256)), (64, 128, 256, 1)),
        (kernel("rms_norm_kernel", (64, 256), (64, 128), (256, 128)), None),
        (kernel("gemm_kernel", (64, 256), (64, 128), (256, 64)), None),
    ],
)
def test_matmuls_by_their_sizes(operation, sizes):
    """K is a size of an operand for which 2 x out x K is the FLOPs but for an epilogue; M, N and a batch follow."""
    found = matmul(operation)
    assert (found and (found.m, found.k, found.n, found.batch)) == sizes


def test_the_share_that_was_recognised():
    """Of three seconds one is a matmul's; attention is told by its kernel's name, and has no FLOPs."""
    paged = Operation("RPA-bq_32-bkvp_64", "", "custom-call", "custom-call", "compute", 1, 1.0, 1.0, 1.0)
    cache = Operation("reshape_and_cache_flash_kernel", "", "kernel", "", "compute", 1, 0.0, 0.0, 0.0)
    found = recognised([cache, op(2 * 64 * 128 * 256, (64, 256), (64, 128), (128, 256)), op(None, (8,), (8,)), paged])
    assert (len(found.matmuls), len(found.attention), found.share) == (1, 1, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void cutlass::device_kernel<flash::FlashAttnFwdSm90<X>>", True),
        ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<X>", True),
        ("void flashinfer::PrefillWithKVCacheKernel<X>", True),
        ("void flashinfer::PersistentVariableLengthMergeStatesKernel<X>", True),
        ("void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>", False),
        ("void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>", False),
        ("_ZN5aiter41mla_a8w8_qh16_qseqlen1_gqaratio16E", True),
        ("_ZN5aiter32pa_bf16_pertokenFp8_gqa8_2tg_4wE", True),
        ("pa_decode_v2_gluon_fp8", True),
        ("kn_mla_reduce_v1", True),
        ("concat_and_cache_mla_kernel", False),
        ("triton_tem_fused_flex_attention_0", True),
        ("triton_poi_fused__scaled_dot_product_flash_attention_3", False),
    ],
)
def test_attention_by_a_kernels_name(name, expected):
    """A library that is named after attention has other kernels too, and torch.compile names what is beside it so."""
    assert is_attention(Operation(name, "", "kernel", "", "compute", 1, 1.0, 1.0, 1.0)) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", 1.0),
        ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64", 1.0),
        ("void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u>", 1.0),
        ("void marlin::Marlin<nv_bfloat16, 256>", 1.0),
        ("fused_moe_kernel", 1.0),
        ("void cublasLt::splitKreduce_kernel<32, 16>", 1.0),
        ("sm80_xmma_fprop_implicit_gemm_bf16f16_f32", 0.0),  # a convolution
        ("triton_poi_fused_mm_relu_3", 0.0),  # what is beside a matmul
        ("void vllm::act_and_mul_kernel<c10::BFloat16>", 0.0),
        ("void at::native::elementwise_kernel<CommaAdd>", 0.0),
        ("fusion.12", 0.0),
    ],
)
def test_a_kernel_that_is_called_a_matmul_is_one_of_unknown_sizes(name, expected):
    """Kernels of a graph that a server replays have no operator: half of the time is one's that its name tells."""
    made = Operation(name, "", "kernel", "", "compute", 1, 1.0, 1.0, 1.0)
    other = Operation("vectorized_add", "", "kernel", "", "compute", 1, 1.0, 1.0, 1.0)
    found = recognised([made, other])
    assert (len(found.kernels), found.share, found.matmuls) == (expected, expected / 2, ())


def test_a_librarys_matmul_within_attention_is_a_matmul():
    """XLA calls cuBLAS for a projection, whose framework's name is of the layer and of a dot; Pallas for a kernel."""
    made = replace(op(2 * 64 * 128 * 256, (64, 256), (64, 128), (128, 256), category="custom-call"),
                   opcode="custom-call", source="jit(step)/layer/self_attention/query/dot_general")  # fmt: skip
    found = recognised([made])
    assert (len(found.matmuls), len(found.attention)) == (1, 0)
    found = recognised([replace(made, source="jit(step)/layer/self_attention/pallas_call")])
    assert (len(found.matmuls), len(found.attention)) == (0, 1)


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("all-to-all(bf16[64,128] %x), replica_groups=[1,8]<=[8]", 64 * 128 * 2),
        ("ragged-all-to-all(bf16[64,128] %x, bf16[96,128] %o, s32[8] %a, s32[8] %b, s32[8] %c, s32[8] %d), "
         "replica_groups=[1,8]<=[8]", None),
    ],
)  # fmt: skip
def test_what_an_exchange_sends(text, payload):
    """All of its input; of a ragged one the sizes, which are data, say how much."""
    made = xla.operation(f"%exchange.1 = bf16[96,128]{{1,0}} {text}", "", {})
    (found,) = recognised([replace(made, self_time=1.0)]).collectives
    assert (found.kind, found.group_size, found.payload) == ("all-to-all", 8, payload)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [("{0,1},{1,2},{2,3},{3,0}", 4), ("{0,1},{1,0},{2,3},{3,2}", 2), ("{2,3},{0,1},{1,2}", 4), ("{0,4},{1,5}", 2),
     ("{0,1},{1,2},{3,4}", None), ("{0,0}", 1)],
)  # fmt: skip
def test_the_group_of_a_permute(pairs, expected):
    """Devices that pairs join to rings or chains; none where these are of several lengths."""
    text = f"%r = f32[8]{{0}} collective-permute(f32[8]{{0}} %x), channel_id=1, source_target_pairs={{{pairs}}}"
    assert parse(text).group_size == expected
    proto = b"".join(
        _message(52, _number(1, a) + _number(2, b)) for a, b in json.loads(f"[{pairs}]".translate(BRACKETS))
    )
    assert xla._groups(wire.grouped(memoryview(proto))) == (expected, None)


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("(bf16[8], bf16[4]) all-reduce-start(bf16[8] %a, bf16[4] %b)", 24),
        ("(bf16[8], bf16[32], u32[], u32[]) all-gather-start(bf16[8] %a)", 64),
        ("((bf16[8], f32[2]), (bf16[32], f32[8])) all-gather-start(bf16[8] %a, f32[2] %b)", 96),
        ("((bf16[32], f32[8]), (bf16[8], f32[2])) reduce-scatter-start(bf16[32] %a, f32[8] %b)", 96),
        ("(f32[8], f32[8], u32[], u32[]) collective-permute-start(f32[8] %a)", 32),
        ("bf16[32] all-gather-done((bf16[8], bf16[32]) %s)", 64),
        ("bf16[8] reduce-scatter-done(((bf16[32]), bf16[8]) %s)", 64),
    ],
)
def test_what_the_start_of_a_collective_sends(text, payload):
    """All arrays of several that are sent together: the inputs, of an all-gather the outputs, each once."""
    made = xla.operation(f"%half.1 = {text}, replica_groups=[1,4]<=[4]", "", {})
    (found,) = recognised([replace(made, self_time=1.0)]).collectives
    assert (found.payload, found.is_half) == (payload, True)


def test_what_an_asynchronous_computation_starts_is_told_by_its_program():
    """XLA:GPU starts a reduce-scatter as `async-start` of a computation, which holds its kind and its groups."""

    def shape(size):
        return _number(2, 11) + _message(3, bytes([size]))

    def instruction(name, opcode, number, size, more=b""):
        return _message(
            2, _message(1, name) + _message(2, opcode) + _message(3, shape(size)) + _number(35, number) + more
        )

    groups = b"".join(_message(49, _message(1, bytes(each))) for each in ((0, 1, 2, 3), (4, 5, 6, 7)))
    held = _number(5, 7) + instruction(b"p", b"parameter", 1, 64) + instruction(b"rs", b"reduce-scatter", 2, 16, groups)
    calls = _message(36, bytes([3])) + _message(38, bytes([7]))
    entry = _number(5, 8) + instruction(b"x", b"parameter", 3, 64)
    entry += instruction(b"async-start.1", b"async-start", 4, 16, calls)
    found = xla.instructions(_message(1, _message(3, held) + _message(3, entry)))["async-start.1"]
    assert (found.opcode, found.group_size, found.operands[0].dims) == ("reduce-scatter-start", 4, (64,))
    assert found.joined == 8
    made = xla.kernel("ncclDevKernel_ReduceScatter_Sum_f32", "jit_f(1)", {"hlo_op": "async-start.1"}, found)
    (one,) = recognised([replace(made, self_time=1.0)]).collectives
    assert (one.kind, one.payload, one.group_size, one.is_half) == ("reduce-scatter", 256, 4, False)


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("jit(f)/layers/self_attention/query/dot_general[dimension_numbers=(((2,), (0,)), ((), ()))]", "", False),
        ("jit(f)/layers/post_self_attention_layer_norm/mul", "", False),
        ("jit(f)/vmap[axis=0]/splash_mha_fwd/pallas_call", "", True),
        ("state.params['layers']['self_attention']['key']", "", False),
        ("loop_add_fusion", "jit(f)/layers/self_attention/add", False),
        ("custom-call.3", "jit(f)/layers/dot_product_attention_fwd", True),
        ("sm80_xmma", "flash_attn::_flash_attn_forward", True),
    ],
)
def test_attention_by_a_frameworks_path(name, source, expected):
    """An operation within a layer of attention isn't attention: the path's end or the kernel that it calls is."""
    made = Operation(name, "", "fusion", "", "compute", 1, 1.0, 1.0, 1.0, source=source)
    assert is_attention(made) is expected
