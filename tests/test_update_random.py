"""Random edits of a small workbook, and a template whose rows change, come and go: an update loses nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from planner.book.read_plan import read_plan
from planner.catalog.databases import Databases
from planner.check.run import check
from planner.update.outcome import lines
from planner.update.update import update_file
from planner.xlsx.opc import Package
from tests.edits.marks import ALL, Desk, losses
from tests.merges import SMALL, planner
from tests.read_once import recalculate_once
from tests.short_data import of_few_cases, of_few_rows

SEQUENCES = 300
PARTS = 6
TINY = """id,n_layers,d_model,d_ff,n_heads,n_kv_heads,head_dim,vocab,tied_embeddings,mlp_gated,source
tiny,2,256,1024,4,2,64,32000,true,true,Our own sketch
"""


WIDE = SMALL + "chip_memory,Memory,byte/chip,hardware,hbm_bytes,accelerators.csv,\n"  # it can be overridden
MEANT = {"broken_reference", "error_value"}  # where a row is gone that a person's formulas read


def another(template: str, random: Random) -> str:
    """The template with rows of another label, note or formula, new ones, and some that are gone."""
    head, *rows = template.splitlines()
    for _ in range(random.randint(1, 3)):
        at = random.randrange(3, len(rows) - 1)
        name = rows[at].split(",")[0]
        used = any(name in row.split(",", 4)[4] for row in rows if not row.startswith(f"{name},"))
        change = random.choice(("label", "note", "formula", "new", "gone"))
        if change == "label":
            rows[at] = rows[at].replace(rows[at].split(",")[1], f"Label {random.randrange(999)}", 1)
        elif change == "note":
            rows[at] += f"now {random.randrange(999)}"
        elif change == "formula" and not rows[at].startswith("row_scale"):
            rows[at] = rows[at].replace(",test", "+0*batch_rows*0,test", 1) if "total_rows" in name else rows[at]
        elif change == "new":
            number = random.randrange(10**6)
            rows.insert(at, f"added_{number},New {number},1,output,batch_rows*row_scale,test,")
        elif change == "gone" and not used and ",output," in rows[at]:
            del rows[at]
    return "\n".join([head, *rows]) + "\n"


@pytest.fixture(name="built", scope="module")
def fixture_built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A workbook of the small template with two scenarios, and its models."""
    return build_in(tmp_path_factory.mktemp("random"))


def build_in(folder: Path) -> tuple[Path, Path]:
    """Write both into a folder."""
    own, models, scenarios, path = (folder / name for name in ("mine.csv", "models.csv", "s.csv", "plan.xlsx"))
    own.write_text(WIDE)
    models.write_text(TINY)
    scenarios.write_text("id,model,hardware\none,tiny,tpu-v5e\ntwo,tiny,tpu-v5e\n")
    planner("build", "--scenarios", scenarios, "--models", models, "--template", own, "-o", path)
    return path, models


def is_kept(built: tuple[Path, Path], seed: int, folder: Path) -> list[str]:
    """Edit, change the template, update; what is lost."""
    random = Random(seed)
    path, own = folder / f"{seed}.xlsx", folder / "mine.csv"
    package = Package.from_bytes(built[0].read_bytes(), path.name)
    desk = Desk(package, random)
    steps = [random.choice(ALL) for _ in range(random.randint(1, 8))]
    for step in steps:
        step(desk)
    recalculate_once(package)
    package.write(path)
    before = {found.kind for found in check(package).of("fault")}
    own.write_text(another(WIDE, random))
    done, _ = update_file(path, [str(own)], Databases(built[1]))
    after = Package.read(path)
    found = losses(desk.marks, after, read_plan(after), "\n".join(lines(done)))
    found += sorted({found.kind for found in check(after).of("fault")} - before - MEANT)
    return [f"{seed} {[step.__name__ for step in steps]}: {loss}" for loss in found]


def test_a_few_edits_are_kept(tmp_path: Path) -> None:
    """Two sequences, everyday, of a workbook without most of its cells."""
    with of_few_rows(), of_few_cases():
        built = build_in(tmp_path)
        assert [loss for seed in range(2) for loss in is_kept(built, seed, tmp_path)] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_random_edits_are_kept(built: tuple[Path, Path], tmp_path: Path, part: int) -> None:
    """Values, overrides, notes, rows, columns, sheets, formulas of all kinds, names and rules: nothing is lost."""
    lost = [loss for seed in range(part, SEQUENCES, PARTS) for loss in is_kept(built, seed, tmp_path)]
    assert lost == []
