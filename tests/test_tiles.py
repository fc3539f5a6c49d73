"""What a tile of a matmul or of attention may take of a chip's memory."""

from __future__ import annotations

import pytest

import planner


@pytest.mark.parametrize(("hardware", "fits"), [("h100-sxm", None), ("tpu-v5e", 1)])
def test_a_cache_holds_no_tile(hardware: str, fits: int | None) -> None:
    """A GPU's on-chip memory is its L2 cache: tiles lie in a multiprocessor, whose memory is asked for."""
    matmul = planner.calc("tiling", hardware=hardware, tokens=4096, d_in=4096, d_out=4096)
    attention = planner.calc("attention_tile", model="llama3-8b", hardware=hardware)
    given = planner.calc("attention_tile", model="llama3-8b", hardware=hardware, on_chip_bytes=232448)
    assert [matmul["check_tile_fits"], attention["check_block_fits"]] == [fits, fits]
    assert given["longest_kv_block"]
