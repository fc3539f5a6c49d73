"""The larger cases in JAX: attention, a feed-forward block, and steps of a transformer.

They compute what their templates count: matmuls in compute_dtype, softmax and norms in fp32, one key for each of
`kv_len` positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from planner.measure.workload import DTYPES, Arguments, CaseSkipped, Operand, Workload, accumulator

ROPE_BASE = 10_000.0
EPSILON = 1e-6
Arrays = tuple[jax.Array, ...]


def mlp(given: Arguments) -> Workload:
    """A feed-forward block: gate and up projections, or up alone, then down."""
    tokens, d_model, d_ff = (given.count(name) for name in ("tokens", "d_model", "d_ff"))
    n_matrices = given.count("mlp_matrices", 3, least=2)
    dtypes = Dtypes.of(given)
    shapes = [(d_model, d_ff)] * (n_matrices - 1) + [(d_ff, d_model)]
    weights = tuple(Operand(shape, dtypes.weight, shape[0] ** -0.5) for shape in shapes)
    return Workload(
        lambda x, *matrices: feed_forward(x, matrices, dtypes),
        (Operand((tokens, d_model), dtypes.activation), *weights),
    )


def attention(given: Arguments) -> Workload:
    """Attention of queries over given keys and values; with a causal mask a query sees keys up to its own position."""
    batch, n_heads, head_dim = given.count("batch", 1), given.count("n_heads"), given.count("head_dim")
    query_len, kv_len, n_kv = given.count("query_len"), given.count("kv_len"), given.count("n_kv_heads")
    dtypes, is_causal = Dtypes.of(given), bool(given.count("is_causal", 1, least=0))
    _check_heads(n_heads, n_kv)
    query = Operand((batch, query_len, n_heads, head_dim), dtypes.activation)
    cache = Operand((batch, kv_len, n_kv, head_dim), dtypes.kv)
    return Workload(lambda q, k, v: attend(q, k, v, dtypes, is_causal), (query, cache, cache))


def step(given: Arguments) -> Workload:
    """Transformer layers with or without the head: a decode step, a prefill, or a training step.

    If `timed_layers` is less than `n_layers`, that many layers and one layer alone are timed, and the rest is
    extrapolated.
    """
    made = StepShape.of(given)
    return in_layers(given, lambda n: Workload(made.function(n), made.operands(n)))


def in_layers(given: Arguments, made: Callable[[int], Workload]) -> Workload:
    """The workload that `made` builds for all layers, or for the timed ones with a single-layer one attached."""
    n_layers, timed = given.count("n_layers", 1), given.count("timed_layers", 0, least=0)
    if not 1 < timed < n_layers:
        return made(n_layers)
    return replace(made(timed), shallow=made(1), timed_layers=timed, n_layers=n_layers)


class Whole:
    """The communication hooks of a step on one device, which do nothing.

    On a mesh they are where devices communicate.
    """

    def gathered(self, matrix: jax.Array, dimension: int) -> jax.Array:  # noqa: ARG002
        """The matrix to multiply by; `dimension` is its model dimension."""
        return matrix

    def enter(self, x: jax.Array) -> jax.Array:
        """Activations before matrices that are split by columns."""
        return x

    def leave(self, x: jax.Array) -> jax.Array:
        """Activations after matrices that are split by rows."""
        return x

    def reduced(self, gradient: jax.Array) -> jax.Array:
        """A matrix's gradient over the whole batch."""
        return gradient


@dataclass(frozen=True)
class Dtypes:
    """The dtypes in which arrays are stored and multiplied."""

    activation: Any
    weight: Any
    kv: Any
    compute: Any
    precision: lax.Precision

    @classmethod
    def of(cls, given: Arguments) -> Dtypes:
        """The dtypes of a row; each defaults to the dtype of the activations."""
        activation = given.dtype_name("activation_dtype", "bf16")
        weight, kv, compute = (given.dtype_name(f"{role}_dtype", activation) for role in ("weight", "kv", "compute"))
        if any(name.startswith(("int", "fp8")) for name in (activation, compute)):
            raise CaseSkipped("int8 and fp8 need scales, which no case has; matmul measures them alone")
        precision = lax.Precision.HIGHEST if compute == "fp32" else lax.Precision.DEFAULT
        return cls(DTYPES[activation], DTYPES[weight], DTYPES[kv], DTYPES[compute], precision)

    def einsum(self, form: str, left: jax.Array, right: jax.Array) -> jax.Array:
        """A product computed in the compute dtype and stored in the activations' dtype."""
        done = jnp.einsum(
            form,
            left.astype(self.compute),
            right.astype(self.compute),
            precision=self.precision,
            preferred_element_type=accumulator(self.activation),
        )
        return done.astype(self.activation)


@dataclass(frozen=True)
class StepShape:
    """The shape of a step. Its arrays are the input, each layer's matrices, the caches, the head and the cotangent."""

    batch: int
    query_len: int
    kv_len: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    n_matrices: int
    vocab: int
    is_training: bool
    is_causal: bool
    dtypes: Dtypes
    split: Whole = field(default_factory=Whole)

    @classmethod
    def of(cls, given: Arguments) -> StepShape:
        """The step of a row. Raises CaseSkipped if its sizes are inconsistent."""
        names = ("query_len", "kv_len", "d_model", "n_heads", "n_kv_heads", "d_ff")
        sizes: dict[str, Any] = {name: given.count(name) for name in names}
        made = cls(
            batch=given.count("batch", 1),
            head_dim=given.count("qk_nope_dim"),
            vocab=given.count("vocab", 0, least=0),
            n_matrices=given.count("mlp_matrices", 3, least=2),
            dtypes=Dtypes.of(given),
            is_training=bool(given.count("is_training", 0, least=0)),
            is_causal=bool(given.count("is_causal", 1, least=0)),
            **sizes,
        )
        _check_heads(made.n_heads, made.n_kv_heads)
        if made.is_training and made.is_cached:
            raise CaseSkipped("training has no cache: kv_len must be query_len")
        return made

    @property
    def is_cached(self) -> bool:
        """Whether keys and values come from a cache; a prefill computes its own."""
        return self.kv_len != self.query_len

    def operands(self, n_layers: int) -> tuple[Operand, ...]:
        """The operands of a step with this number of layers."""
        given = Operand((self.batch, self.query_len, self.d_model), self.dtypes.activation)
        output = replace(given, shape=(self.batch, self.query_len, self.vocab or self.d_model))
        cotangent = (output,) if self.is_training else ()
        return (given, *self._matrices() * n_layers, *self._caches() * n_layers, *self._head(), *cotangent)

    def function(self, n_layers: int) -> Callable[..., Any]:
        """The program of a step with this number of layers."""
        made: Callable[..., Any] = self._trained(n_layers) if self.is_training else self._forward(n_layers)
        return made

    def _forward(self, n_layers: int) -> Any:
        each, cached = len(self._matrices()), len(self._caches())

        def forward(x: jax.Array, *arrays: jax.Array) -> jax.Array | Arrays:
            written: list[jax.Array] = []
            caches = arrays[each * n_layers :]
            for layer in range(n_layers):
                matrices = arrays[layer * each : (layer + 1) * each]
                x, new = self._layer(x, matrices, caches[layer * cached : (layer + 1) * cached])
                written += new if cached else ()
            if self.vocab:
                seen = self.split.enter(x if self.is_training else x[:, -1:])
                x = self.dtypes.einsum("btd,dv->btv", seen, self.split.gathered(arrays[-1], 0))
            return (x, *written) if written else x

        return forward

    def _trained(self, n_layers: int) -> Any:
        forward = self._forward(n_layers)

        def trained(*arrays: jax.Array) -> Arrays:
            output, pull = jax.vjp(forward, *arrays[:-1])
            first, *gradients = pull(arrays[-1])
            return (output, first, *map(self.split.reduced, gradients))

        return trained

    def _layer(self, x: jax.Array, matrices: Arrays, cache: Arrays) -> tuple[jax.Array, Arrays]:
        dimensions = (0, 0, 0, 2, *[0] * (self.n_matrices - 1), 1)
        whole = [self.split.gathered(*each) for each in zip(matrices, dimensions, strict=True)]
        query, key, value, out, *feed = whole
        normed = self.split.enter(norm(x))
        first = self.kv_len - self.query_len
        q = rotate(self.dtypes.einsum("btd,dnh->btnh", normed, query), first)
        k = rotate(self.dtypes.einsum("btd,dnh->btnh", normed, key), first)
        v = self.dtypes.einsum("btd,dnh->btnh", normed, value)
        keys, values = cache or (k, v)
        attended = attend(q, keys, values, self.dtypes, self.is_causal)
        x = x + self.split.leave(self.dtypes.einsum("btnh,nhd->btd", attended, out))
        fed = feed_forward(self.split.enter(norm(x)), tuple(feed), self.dtypes)
        return x + self.split.leave(fed), (k, v)

    def _matrices(self) -> tuple[Operand, ...]:
        heads, keys = (self.n_heads, self.head_dim), (self.n_kv_heads, self.head_dim)
        into = [(self.d_model, *heads), (self.d_model, *keys), (self.d_model, *keys)]
        feed = [(self.d_model, self.d_ff)] * (self.n_matrices - 1)
        made = [Operand(shape, self.dtypes.weight, self.d_model**-0.5) for shape in (*into, *feed)]
        out = Operand((*heads, self.d_model), self.dtypes.weight, (self.n_heads * self.head_dim) ** -0.5)
        return (*made[:3], out, *made[3:], Operand((self.d_ff, self.d_model), self.dtypes.weight, self.d_ff**-0.5))

    def _caches(self) -> tuple[Operand, ...]:
        shape = (self.batch, self.kv_len, self.n_kv_heads, self.head_dim)
        return (Operand(shape, self.dtypes.kv),) * 2 if self.is_cached else ()

    def _head(self) -> tuple[Operand, ...]:
        shape = (self.d_model, self.vocab)
        return (Operand(shape, self.dtypes.weight, self.d_model**-0.5),) if self.vocab else ()


def _check_heads(n_heads: int, n_kv_heads: int) -> None:
    if n_heads % n_kv_heads:
        raise CaseSkipped(f"{n_heads} query heads can't share {n_kv_heads} key and value heads evenly")


def attend(query: jax.Array, key: jax.Array, value: jax.Array, dtypes: Dtypes, is_causal: bool) -> jax.Array:
    """Softmax attention in which a group of query heads shares one head of keys and values."""
    batch, query_len, n_heads, head_dim = query.shape
    kv_len, n_kv = key.shape[1:3]
    grouped = query.reshape(batch, query_len, n_kv, n_heads // n_kv, head_dim)
    scores = dtypes.einsum("btkgh,bskh->bkgts", grouped, key).astype(jnp.float32) * head_dim**-0.5
    if is_causal:
        places = lax.broadcasted_iota(jnp.int32, (query_len, kv_len), 0) + (kv_len - query_len)
        scores = jnp.where(places >= lax.broadcasted_iota(jnp.int32, (query_len, kv_len), 1), scores, -jnp.inf)
    shares = jax.nn.softmax(scores, axis=-1)
    return dtypes.einsum("bkgts,bskh->btkgh", shares, value).reshape(query.shape)


def feed_forward(x: jax.Array, matrices: Arrays, dtypes: Dtypes) -> jax.Array:
    """The gated block, or the plain one if there are two matrices."""
    *into, out = matrices
    hidden = jax.nn.silu(dtypes.einsum("...d,df->...f", x, into[0]))
    for matrix in into[1:]:
        hidden = hidden * dtypes.einsum("...d,df->...f", x, matrix)
    return dtypes.einsum("...f,fd->...d", hidden, out)


def norm(x: jax.Array) -> jax.Array:
    """Root-mean-square norm without its scale."""
    wide = x.astype(jnp.float32)
    return (wide * lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + EPSILON)).astype(x.dtype)


def rotate(x: jax.Array, first: int) -> jax.Array:
    """`x` with rotary position embeddings, its first token at position `first`."""
    half = x.shape[-1] // 2
    angles = (first + jnp.arange(x.shape[1]))[:, None] * ROPE_BASE ** (-jnp.arange(half) / half)
    sine, cosine = (turn(angles)[:, None, :] for turn in (jnp.sin, jnp.cos))
    left, right = x[..., :half].astype(jnp.float32), x[..., half : 2 * half].astype(jnp.float32)
    turned = [left * cosine - right * sine, right * cosine + left * sine, x[..., 2 * half :].astype(jnp.float32)]
    return jnp.concatenate(turned, axis=-1).astype(x.dtype)
