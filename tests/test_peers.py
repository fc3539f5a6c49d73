"""The cases that peer calculators get wrong, each against a number derived by hand."""

from __future__ import annotations

import functools

import pytest

from planner import catalog
from planner.formulas.library import load
from planner.formulas.lookups import facts
from planner.formulas.partial import Prepared

GIB = 2**30
prepared = functools.cache(lambda name, model, chip: Prepared(load(name), facts(load(name), model, chip)))
MODELS = catalog.load_models()


def plan(template, model=None, chip=None, **values):
    """The results of one plan."""
    return prepared(template, model, chip).results(values)


def decode(model="llama3-70b", chip="h100-sxm", **values):
    """A decode plan."""
    return plan("inference", model, chip, **values)


@pytest.mark.parametrize("model", [name for name in MODELS.rows if MODELS.rows[name]["n_params_published"]])
def test_published_parameters(model):
    """The parameters of every model with an exact published count are that count, to the digit."""
    results = plan("transformer", model)
    assert results.value("n_params_total") == MODELS.rows[model]["n_params_published"]
    assert results.value("check_params_published") == 1


def test_many_models_have_a_published_count():
    """The test above is not an empty one."""
    assert sum(MODELS.rows[name]["n_params_published"] is not None for name in MODELS.rows) >= 70


@pytest.mark.parametrize("model", list(MODELS.rows))
def test_second_derivations(model):
    """No check of the transformer fails for any model; one is N/A only where no count is published."""
    results = plan("transformer", model)
    for check in load("transformer").of_kind("check"):
        na = check.name == "check_params_published" and MODELS.rows[model]["n_params_published"] is None
        assert results.value(check.name) == (None if na else 1), check.name


@pytest.mark.parametrize(
    ("model", "total", "active"),
    [
        ("llama3-70b", 70_553_706_496, 70_553_706_496),
        ("deepseek-v3", 671_026_419_200, None),
        ("mixtral-8x7b", 46_702_792_704, 12_879_925_248),
    ],
)
def test_parameters_by_hand(model, total, active):
    """Total parameters, and active ones: the total minus idle experts, with both tables."""
    results = plan("transformer", model)
    assert results.value("n_params_total") == total
    assert active in (None, results.value("n_params_active"))


def test_cache_counts_kv_heads():
    """Grouped queries cache their 8 KV heads, keys and values: 2 x 80 x 8 x 128 x 2 bytes a token."""
    results = plan("transformer", "llama3-70b", context_len=2048)
    assert results.value("kv_bytes_per_token") == 2 * 80 * 8 * 128 * 2 == 327_680
    assert results.value("kv_bytes_per_sequence") == 671_088_640


@pytest.mark.parametrize(
    ("batch", "context_len", "milliseconds"),
    [(1, 2048, 5.212), (32, 2048, 5.988), (128, 2048, 8.392), (1, 8192, 5.287), (32, 8192, 8.392), (128, 8192, 18.007)],
)
def test_decode_step(batch, context_len, milliseconds):
    """Llama 3 70B in bf16 on 8 H100: the step by hand, to the printed digits."""
    results = decode(n_chips=8, batch=batch, context_len=context_len)
    assert round(results.value("decode_step_time") * 1e3, 3) == milliseconds


def test_the_cache_is_read_once():
    """A decode step reads the cache once; it doesn't write it whole as well."""
    results = decode(n_chips=8, batch=128, context_len=8192)
    assert results.value("kv_time") == pytest.approx(128 * 8192 * 327_680 / (8 * 3.35e12), rel=1e-15)


def test_untied_tables():
    """An untied head is a table of its own; the input table is looked up and not read, the head is."""
    results = decode()
    assert results.value("n_params_embedding") == 2 * 128_256 * 8192
    assert results.value("weight_bytes") == 141_107_412_992
    assert results.value("read_bytes") == 139_003_428_864
    norms = (2 * 80 + 1) * 8192
    assert results.value("weight_bytes") - results.value("read_bytes") == 2 * (128_256 * 8192 + norms)


def test_a_tied_table_is_read_once():
    """A tied table counts once, and a decode step reads it once, as the head."""
    results = decode("gemma-7b")
    assert results.value("n_params_embedding") == 256_000 * 3072
    norms = (2 * 28 + 1) * 3072
    assert results.value("read_bytes") == results.value("weight_bytes") - 2 * norms


def test_head_dim_is_a_number_of_its_own():
    """Gemma 7B has 16 heads of 256, not of 3072/16: its cache, and the batch that fits beside 14 GB on 4 chips."""
    results = decode("gemma-7b", "tpu-v4", context_len=2048, n_chips=4, hbm_bytes=32e9, weight_bytes=14e9)
    assert results.value("kv_bytes_per_sequence") == 2 * 28 * 16 * 256 * 2048 * 2 == 939_524_096
    assert results.value("max_batch") == 121


@pytest.mark.parametrize(("batch", "touched"), [(1, 2), (4, 5.46875), (64, 8 * (1 - 0.75**64))])
def test_experts_touched(batch, touched):
    """A batch reads the experts that it touches, 8 x (1 - (6/8)^batch): neither all nor two."""
    results = decode("mixtral-8x7b", batch=batch)
    assert results.value("experts_touched") == pytest.approx(touched, rel=1e-12)
    expert, always = 3 * 4096 * 14336, 2 * 4096 * (4096 + 1024) + 4096 * 8
    read = 32 * (touched * expert + always) + 32_000 * 4096
    assert results.value("read_bytes") == pytest.approx(2 * read, rel=1e-12)


def test_mixtral_reads_two_experts():
    """Mixtral 8x7B at batch 1 on two H100: about 3.8 ms of weights."""
    assert round(decode("mixtral-8x7b", n_chips=2).value("param_time") * 1e3, 1) == 3.8


@pytest.mark.parametrize(
    ("model", "cached"),
    [
        ("mistral-7b-v0.1", 32 * 4096 * 4096),  # every layer sees 4,096 tokens of 2 x 8 x 128 x 2 bytes
        ("gemma2-27b", 23 * (8192 + 4096) * 8192),  # every other layer, 2 x 16 x 128 x 2 bytes
        ("gpt-oss-120b", 18 * (8192 + 128) * 2048),  # every other layer 128 tokens, 2 x 8 x 64 x 2 bytes
    ],
)
def test_windows_bound_the_cache(model, cached):
    """A layer with a window caches no more than its window; within it nothing is hidden."""
    assert plan("transformer", model, context_len=8192).value("kv_bytes_per_sequence") == cached
    short = plan("transformer", model, context_len=100)
    assert short.value("kv_bytes_per_sequence") == 100 * short.value("kv_bytes_per_token")


def test_linear_layers_keep_no_cache():
    """Of the 80 layers of MiniMax-Text-01 ten keep a cache: 2 x 8 x 128 x 2 bytes a token each."""
    assert plan("transformer", "minimax-text-01").value("kv_bytes_per_token") == 10 * 4096


def test_latent_attention():
    """MLA caches the latent rank and the rotary part of a token: (512 + 64) x 2 bytes in each of 61 layers."""
    assert plan("transformer", "deepseek-v3").value("kv_bytes_per_token") == 61 * 576 * 2


@pytest.mark.parametrize(("model", "parameters"), [("llama3-8b", 3 * 4096 * 14336), ("falcon-7b", 2 * 4544 * 18176)])
def test_gated_and_plain(model, parameters):
    """A gated feed-forward block has three matrices, a plain one two."""
    assert plan("transformer", model).value("n_params_mlp_layer") == parameters


@pytest.mark.parametrize(
    ("hbm_bytes", "context_len", "batch"),
    [(80e9, 2048, 743), (80 * GIB, 2048, 813), (80e9, 8192, 185), (80 * GIB, 8192, 203)],
)
def test_gigabytes_and_gibibytes(hbm_bytes, context_len, batch):
    """A chip of 80 GiB holds more sequences than one of 80 GB: the largest batch of Llama 3 70B on 8 of them."""
    results = decode(n_chips=8, hbm_bytes=hbm_bytes, context_len=context_len)
    assert results.value("max_batch") == batch


def test_the_database_tells_gb_from_gib():
    """An H100's memory is 80 GiB; its bandwidth is 3.35e12 byte/s, not GiB."""
    chip = catalog.load_hardware().row("h100-sxm")
    assert (chip["hbm_bytes"], chip["hbm_bandwidth"]) == (80 * GIB, 3.35e12)


def test_attention_flops():
    """Training attention of one 8,192-token sequence of Llama 3 70B: 5.2777e14 FLOP in full, half when causal."""
    model = plan("transformer", "llama3-70b", context_len=8192)
    full = 3 * 8192 * model.value("attention_flops_per_token")
    shape = {"query_len": 8192, "kv_len": 8192, "n_heads": 64, "n_kv_heads": 8, "head_dim": 128}
    layer = {causal: plan("attention", chip="h100-sxm", is_causal=causal, **shape).value("flops") for causal in (0, 1)}
    assert full == 3 * 80 * layer[0] == pytest.approx(5.2777e14, rel=1e-5)
    assert 3 * 80 * layer[1] == full / 2


def test_attention_grows_with_the_context():
    """Attention work is proportional to the context, and a token of decode sees nearly all of it."""
    short, long = (plan("transformer", "llama3-70b", context_len=length) for length in (2048, 8192))
    assert long.value("attention_flops_per_token") == 4 * short.value("attention_flops_per_token")
    shape = {"query_len": 1, "kv_len": 8192, "n_heads": 64, "n_kv_heads": 8, "head_dim": 128}
    decoding = plan("attention", chip="h100-sxm", **shape).value("flops")
    assert decoding == 4 * 64 * 128 * (8192 - 0.5)


def test_int8_weights_compute_in_bf16():
    """int8 weights are half the bytes at the bf16 peak; int8 on both sides has the int8 peak."""
    bf16 = decode(chip="tpu-v5e")
    weights = decode(chip="tpu-v5e", weight_dtype="int8")
    both = decode(chip="tpu-v5e", weight_dtype="int8", compute_dtype="int8")
    assert weights.value("peak_flops") == bf16.value("peak_flops") == 197e12
    assert both.value("peak_flops") == 394e12
    assert weights.value("read_bytes") == bf16.value("read_bytes") / 2
    assert weights.value("critical_batch") == bf16.value("critical_batch") / 2
    assert both.value("critical_batch") == bf16.value("critical_batch")


def test_training_flops_count_matrices():
    """6ND counts what a token multiplies: no lookup table, the head once, and for experts the active ones."""
    llama = plan("transformer", "llama3-70b")
    tables, norms = 2 * 128_256 * 8192, (2 * 80 + 1) * 8192
    multiplied = 70_553_706_496 - tables // 2 - norms
    assert llama.value("train_flops_per_token") == 6 * multiplied
    assert 8192 * llama.value("train_flops_per_token") == pytest.approx(3.416148e15, rel=1e-6)
    mixtral = plan("transformer", "mixtral-8x7b")
    assert mixtral.value("train_flops_per_token") == 6 * (12_879_925_248 - 32_000 * 4096 - (2 * 32 + 1) * 4096)


@pytest.mark.parametrize(
    ("batch", "context_len", "milliseconds"),
    [
        (1, 2048, 5.222),
        (32, 2048, 6.314),
        (128, 2048, 9.697),
        (1, 8192, 5.297),
        (32, 8192, 8.718),
        (128, 8192, 19.312),
    ],
)
def test_decode_step_with_communication(batch, context_len, milliseconds):
    """The same steps with 160 ring all-reduces at 450 GB/s, bandwidth alone: 2 x 7/8 of the activations each."""
    results = decode(n_chips=8, batch=batch, context_len=context_len, hop_latency=0)
    assert round(results.value("decode_step_time_with_comm") * 1e3, 3) == milliseconds
    assert results.value("decode_comm_time") == pytest.approx(160 * 2 * 7 / 8 * batch * 8192 * 2 / 450e9, rel=1e-12)


def test_the_cache_is_cut_by_its_heads_alone():
    """Over 16 chips by heads the cache of 8 KV heads is on 8 of them, twice: a chip holds an eighth and reads it."""
    over_all = decode(n_chips=16, batch=32)
    by_heads = decode(n_chips=16, batch=32, kv_head_sharding=1)
    assert by_heads.value("kv_time") == 2 * over_all.value("kv_time")
    cache = 32 * 8192 * 327_680
    assert by_heads.value("memory_bytes_per_chip") == pytest.approx(141_107_412_992 / 16 + cache / 8, rel=1e-12)
    assert by_heads.value("max_batch") < over_all.value("max_batch")
    assert (over_all.value("check_kv_heads"), by_heads.value("check_kv_heads")) == (1, 0)
    assert decode(n_chips=8, kv_head_sharding=1).value("check_kv_heads") == 1


def test_a_latent_cache_has_no_heads():
    """An MLA cache by heads alone is on every chip whole."""
    results = decode("deepseek-v3", n_chips=16, batch=2, kv_head_sharding=1)
    assert results.value("kv_time") == pytest.approx(2 * 8192 * 61 * 576 * 2 / 3.35e12, rel=1e-12)


@pytest.mark.parametrize("batch", [1, 4, 64])
def test_mixtral_steps(batch):
    """Mixtral 8x7B on two H100 reads 2, 5.5 and 8 experts of a layer: neither always all (14 ms) nor always two."""
    touched = 8 * (1 - 0.75**batch)
    always = 2 * 4096 * (4096 + 1024) + 4096 * 8
    read = 2 * (32 * (touched * 3 * 4096 * 14336 + always) + 32_000 * 4096)
    results = decode("mixtral-8x7b", n_chips=2, batch=batch)
    assert results.value("param_time") == pytest.approx(read / (2 * 3.35e12), rel=1e-12)


def test_drafts_touch_more_experts():
    """Three draft tokens of a sequence touch experts as a batch of four does."""
    results = decode("mixtral-8x7b", n_draft_tokens=3, acceptance_rate=0.8)
    assert results.value("verify_experts") == pytest.approx(8 * (1 - 0.75**4), rel=1e-12)


@pytest.mark.parametrize(
    ("chip", "dtype", "dense"),
    [("h100-sxm", "bf16", 989.4e12), ("h100-sxm", "fp8", 1978.9e12), ("a100-sxm-80", "bf16", 312e12)],
)
def test_peaks_are_dense(chip, dtype, dense):
    """A data sheet's larger number counts zeros that are skipped: twice as much, and not ours."""
    assert decode(chip=chip, compute_dtype=dtype).value("peak_flops") == dense


def test_training_attention_is_causal_or_says_so():
    """A training step's attention is half of the square with a mask; the head counts in the matmuls."""
    step = {"batch_tokens": 8192, "seq_len": 8192}
    causal, full = (plan("training", "llama3-70b", "h100-sxm", is_causal=each, **step) for each in (1, 0))
    assert full.value("attention_train_flops") == pytest.approx(5.2777e14, rel=1e-5)
    assert causal.value("attention_train_flops") == full.value("attention_train_flops") / 2
    assert causal.value("step_flops") == pytest.approx(3.6800e15, rel=1e-5)
    assert full.value("step_flops") == pytest.approx(3.9439e15, rel=1e-5)
    head = 6 * 8192 * 128_256 * 8192
    assert causal.value("matmul_train_flops") - 6 * 8192 * causal.value("n_params_layers_multiplied") == head


def test_recomputation_is_counted_apart():
    """A full recomputation adds a forward pass to what the hardware does, and nothing to the model's own work."""
    step = {"batch_tokens": 8192, "seq_len": 8192, "is_causal": 0}
    kept, again = (plan("training", "llama3-70b", "h100-sxm", remat=each, **step) for each in ("none", "block"))
    assert kept.value("step_flops") == again.value("step_flops")
    assert kept.value("remat_flops") == 0
    assert again.value("step_flops") + again.value("remat_flops") == pytest.approx(5.2586e15, rel=1e-5)
    assert again.value("mfu") < again.value("hfu")


def test_a_stored_size_is_not_the_parameter_count():
    """DeepSeek V3 is published with a layer that predicts a second token; the model without it has 671,026,419,200
    parameters. A head that is stored beside its tied table is no second one."""
    assert plan("transformer", "deepseek-v3").value("n_params_total") == 671_026_419_200
    gemma = plan("transformer", "gemma-7b")
    assert gemma.value("n_params_embedding") == 256_000 * 3072
    assert gemma.value("weight_bytes") == 2 * gemma.value("n_params_total")


def test_parallel_state_is_cut_once():
    """512 chips as 8 tensor by 64 FSDP ways hold a 512th of the weights each: not an eighth of that."""
    results = plan("training", "llama3-70b", "h100-sxm", n_chips=512, mesh_tensor=8, mesh_fsdp=64)
    assert results.value("weight_bytes_per_chip") == pytest.approx(141_107_412_992 / 512, rel=1e-12)
    assert results.value("optimizer_bytes_per_chip") == pytest.approx(8 * 70_553_706_496 / 512, rel=1e-12)


@pytest.mark.parametrize(
    ("check", "values"),
    [
        ("check_mesh", {"n_chips": 64, "mesh_fsdp": 32}),
        ("check_heads", {"n_chips": 48, "mesh_tensor": 48}),
        ("check_batch", {"n_chips": 2048, "mesh_fsdp": 2048}),
        ("check_kv_heads", {"n_chips": 12, "mesh_tensor": 12}),
        ("check_stages", {"n_chips": 81, "mesh_pipeline": 81}),
        ("check_experts", {"n_chips": 2, "mesh_expert": 2}),
        ("fits_memory", {"n_chips": 1}),
        ("check_slice_shape", {"n_chips": 64, "mesh_fsdp": 64, "slice_x": 4, "slice_y": 4, "slice_z": 8}),
        ("check_sequence", {"seq_len": 16_384}),
    ],
)
def test_a_wrong_plan_fails_a_check(check, values):
    """What can't be run fails its check, in words, and isn't a silent number."""
    assert plan("training", "llama3-70b", "tpu-v5p", **values).value(check) == 0
    right = {"n_chips": 1024, "mesh_fsdp": 256, "mesh_tensor": 4}
    assert plan("training", "llama3-70b", "tpu-v5p", **right).value(check) == 1
