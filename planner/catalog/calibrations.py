"""Calibrations: a CSV with a line for each parameter, read as a table with a row for each calibration.

Columns: calibration, parameter, value, unit, lower, upper, rows, sources, error. `rows` and `sources` are the runs
to which the value is fitted; if `rows` is blank, the value is a prior and `sources` says whose. `error` is the median
error of the runs when their source is left out. A parameter that a shipped calibration lacks is that of `any`; one that
a user's calibration lacks is that of `tpu` if its name begins so, otherwise that of `gpu`.

A stack that is fitted to runs has the name of its calibration. The lines of that name have both: the stack's factors,
with the calibration of its chips in `fitted_for`, and the parameters. `--set stack=NAME` selects a stack of any file
that the command reads.

A parameter is fitted to published runs within what physics allows, or is a prior with its source. The templates' rows
of kind `calibration` read them; `docs/validation.md` says how much each contributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from planner import __version__, csvfile, data, progress
from planner.catalog.checked_table import Table, called
from planner.catalog.columns import Column, Value, number
from planner.catalog.hardware_columns import STACK_FIELDS
from planner.errors import Place, UserError, nearest, placed
from planner.number_text import few, percent
from planner.plausible import share_meant
from planner.terminal_table import counted
from planner.typed_numbers import PLAIN, echo

COMMON = "any"  # the calibration that supplies parameters missing from another
# The kinds of runs, each with its own error.
KINDS = ("train", "static", "prefill", "decode", "tpot", "matmul", "collective")
OF_LAYOUTS = KINDS[:5]  # kinds for which a question is answered by several layouts
MIXES = ("dense", "moe")
TIE = "tie"  # suffix of parameters for the difference that distinguishes two plans of one model and chip


@dataclass(frozen=True)
class Parameter:
    """A number of a calibration: its unit, and its least and greatest value."""

    name: str
    label: str
    unit: str
    lower: float
    upper: float


def _ranges() -> Iterator[Parameter]:
    """Quantiles of measured over expected by kind of run, separately for dense models and mixtures of experts."""
    for kind in KINDS:
        for mix in MIXES:
            yield Parameter(
                f"{kind}_{mix}_low", f"10 % of {kind} runs take this times the expected ({mix})", "1", 0.1, 1
            )
            yield Parameter(
                f"{kind}_{mix}_high", f"90 % of {kind} runs take this times the expected ({mix})", "1", 1, 10
            )
            if kind in OF_LAYOUTS:
                label = f"80 % of two {kind} runs of one model and chip err alike but for these times ({mix})"
                yield Parameter(f"{kind}_{mix}_{TIE}", label, "1", 1, 10)


PARAMETERS = (
    Parameter("train_matmul_efficiency", "Share of the peak that training matmuls reach", "1", 0.3, 1),
    Parameter("train_attention_efficiency", "Share of the 16-bit peak that training attention reaches", "1", 0.05, 1),
    Parameter("train_activation_passes", "Passes over a layer's activations outside its matmuls", "1", 0, 15),
    Parameter("expert_width_scale", "Width of experts at which their work takes twice as long", "1", 0, 5000),
    Parameter("expert_layer_overhead", "Time of the host for a layer with experts and a microbatch", "s", 0, 0.02),
    Parameter("recompute_cost", "Time of repeated matmuls over that of the first", "1", 0.3, 1),
    Parameter("tensor_exposure", "Tensor communication that no work hides, over its bound", "1", 0, 3),
    Parameter("fsdp_exposure", "FSDP and data-parallel communication that no work hides, over its bound", "1", 0, 2),
    Parameter("expert_exposure", "Expert communication that no work hides, over its bound", "1", 0, 2),
    Parameter("pipeline_exposure", "Pipeline communication that no work hides, over its bound", "1", 0, 4),
    Parameter("train_scan_passes", "Passes over a recurrent state that a token takes in training", "1", 0, 20),
    Parameter("slice_wait", "Wait for the slowest slice at each doubling of slices, over the step", "1", 0, 0.5),
    Parameter("serve_matmul_efficiency", "Share of the peak that serving matmuls of many tokens reach", "1", 0.3, 1),
    Parameter("matmul_ramp", "Smallest dimension at which a matmul reaches half of its best", "1", 0, 2000),
    Parameter("matmul_least_rows", "Rows of the smallest tile of a matmul", "1", 1, 256),
    Parameter("hbm_efficiency", "Share of the HBM bandwidth that reads reach while serving", "1", 0.3, 1),
    Parameter("layer_overhead", "Time of a layer in which nothing is computed or read", "s", 0, 1e-3),
    Parameter(
        "serve_step_overhead", "Time of a pass, of any model, in which nothing is computed or read", "s", 0, 0.02
    ),
    Parameter("serve_cache_speed", "Speed of the cache's reads over that of others while serving", "1", 0.2, 1),
    Parameter("serve_expert_overhead", "Time that a layer with experts adds to a pass while serving", "s", 0, 1e-3),
    Parameter("serve_scan_time", "Time of a layer with a recurrent state for a token of a prompt", "s", 0, 1e-4),
    Parameter("sparse_attention_heads", "Query heads that a kernel of sparse attention works on at once", "1", 1, 256),
    Parameter(
        "sparse_attention_efficiency", "Share of the peak that sparse attention of a prompt reaches", "1", 0.05, 1
    ),
    Parameter("sparse_layer_host_time", "Time of the host for a layer of sparse attention in a prompt", "s", 0, 0.1),
    Parameter("expert_layer_host_time", "Time of the host for a layer with experts in a prompt", "s", 0, 0.1),
    Parameter("collective_overhead", "Start-up time of an all-reduce while serving", "s", 0, 1e-4),
    Parameter("narrow_expert_overhead", "Time that experts in fewer bits add in a layer", "s", 0, 1e-3),
    Parameter("exchange_overhead", "Start of an exchange beyond an all-reduce's", "s", 0, 1e-3),
    Parameter("fabric_collective_overhead", "Start-up time of an all-reduce between nodes while serving", "s", 0, 1e-3),
    Parameter("serve_activation_passes", "Passes over a layer's activations while serving", "1", 0, 20),
    Parameter("serve_exposure", "All-reduces while serving, over bytes by bandwidth", "1", 0, 10),
    Parameter("exchange_exposure", "Exchanges for experts while serving, over bytes by bandwidth", "1", 0, 10),
    Parameter("node_latency", "Start-up time of a collective within a node or a slice", "s", 0, 1e-3),
    Parameter("fabric_latency", "Start-up time of a collective between nodes", "s", 0, 1e-2),
    Parameter("collective_efficiency", "Share of the bandwidth that collectives reach", "1", 0.2, 1),
    Parameter("switch_reduction_speed", "Speed of reductions in the switch over that of others", "1", 0.2, 1),
    Parameter("gemm_efficiency", "Share of the peak that one large matmul reaches", "1", 0.3, 1),
    Parameter("operation_hbm_efficiency", "Share of the HBM bandwidth that one operation reaches", "1", 0.3, 1),
    Parameter("operation_overhead", "Time to start an operation", "s", 0, 1e-4),
    Parameter("attention_speed", "Speed of attention over that of a matmul", "1", 0.01, 1),
    Parameter("attention_read_speed", "Speed of attention's reads over that of others", "1", 0.01, 1),
    Parameter("train_most_chips", "Most chips of the fitted training runs", "chip", 0, 1e9),
    Parameter("train_most_tensor", "Most tensor ways of the fitted training runs", "1", 0, 1e9),
    Parameter("train_most_pipeline", "Most pipeline stages of the fitted training runs", "1", 0, 1e9),
    Parameter("train_most_context", "Most context ways of the fitted training runs", "1", 0, 1e9),
    Parameter("train_least_tokens", "Fewest tokens of a microbatch on a model shard of the fitted runs", "1", 0, 1e9),
    Parameter("train_tells_moe", "Fitted training runs tell of mixtures of experts (1 or 0)", "1", 0, 1),
    Parameter("serve_most_chips", "Most chips of the fitted serving runs", "chip", 0, 1e9),
    Parameter("serve_tells_moe", "Fitted serving runs tell of mixtures of experts (1 or 0)", "1", 0, 1),
    Parameter("serve_tells_sparse", "Fitted serving runs tell of sparse attention (1 or 0)", "1", 0, 1),
    *_ranges(),
)
BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}


PROVENANCE = ("device", "date", "planner", "jax")
"""Columns of a fitted line: on what its runs were, when and under which planner they were fitted, and the versions of
JAX that measured them, with blanks between."""
FITTED = ("calibration", "parameter", "value", "unit", "lower", "upper", "rows", "sources", "error")
COLUMNS = (*FITTED, *PROVENANCE)
REQUIRED = ("calibration", "parameter", "value")
SHOWN = (
    *(Column(each.name, each.unit, each.label) for each in PARAMETERS),
    Column("source", "text", "What the values are fitted on"),
)
SHIPPED = "calibrations.csv"
SOFTWARE = ("planner", "jax")
OF_STACKS = {each.name: each for each in STACK_FIELDS if each.name not in ("id", "source", "note")}
"""The fields that a stack's line may set, by parameter name."""


class Stated(NamedTuple):
    """A line of a file of calibrations: its cells, and its value."""

    file: Path
    line: int
    calibration: str
    cells: Mapping[str, str]
    value: float


def load_calibrations(path: Path | None = None, *, only: bool = False) -> Table:
    """The shipped calibrations, overridden by a file's parameters; with `only`, those of the file alone.

    Raises UserError for an unknown parameter, a value beyond its bounds, a repeated one, and for calibrations without
    `any`, the default of the others.
    """
    files = _files(path, only)
    digests: dict[str, str] = {}
    stated = _stated(files, digests)
    shipped = ids_in(_shipped()) if path else set()
    sources = {
        identifier: _source(identifier, list(lines.values()), files[0] if identifier in shipped else None)
        for identifier, lines in stated.items()
    }
    rows: dict[str, dict[str, Value]] = {}
    for identifier, lines in stated.items():
        found: dict[str, Value] = {name: lines[name].value if name in lines else None for name in BY_NAME}
        rows[identifier] = {**found, "source": sources[identifier]}
    return Table("calibration", files[0], SHOWN, rows, sources, digests)


def stated_calibrations(path: Path | None, *, only: bool = False) -> dict[str, dict[str, Stated]]:
    """By calibration and parameter, the line with its value. Raises UserError as `load_calibrations` does."""
    return _stated(_files(path, only), {})


def _files(path: Path | None, only: bool) -> list[Path]:
    """The files to read, in order of precedence."""
    return [path] if path and only else [_shipped()] if path is None else [path, _shipped()]


def _shipped() -> Path:
    return data.folder("hardware_db") / SHIPPED


def _stated(files: list[Path], digests: dict[str, str]) -> dict[str, dict[str, Stated]]:
    """The lines of files, completed by defaults from other calibrations; `digests` collects each file's digest."""
    found: dict[str, dict[str, Stated]] = {}
    shipped: set[str] = set()
    for file in files:
        sheet = csvfile.read(file, required=REQUIRED, known=COLUMNS)
        digests[file.name if file == files[-1] else called(file)] = sheet.digest
        seen: set[tuple[str, str]] = set()
        for line, cells in sheet.records():
            if cells["parameter"].strip() in OF_STACKS:
                continue  # already defined by a stack of that name
            key, value = _read(cells, Place(file, line))
            identifier, name = key
            if key in seen:
                raise UserError(f"{name} of {identifier} is there already", place=Place(file, line), remedy="keep one")
            seen.add(key)
            found.setdefault(identifier, {}).setdefault(name, Stated(file, line, identifier, cells, value))
            if file == _shipped():
                shipped.add(identifier)
        own = (line.cells for lines in found.values() for line in lines.values() if line.file == file)
        warn_of_age(file, [cells for cells in own if "date" in cells])
    if COMMON not in found:
        what = f"there is no calibration {COMMON!r}, which stands for what others leave open"
        raise UserError(what, place=Place(files[0]), remedy=f"add its lines, or leave --only away to read {SHIPPED}")
    return {
        identifier: {**found[COMMON], **({} if identifier in shipped else found.get(kind_of(identifier), {})), **lines}
        for identifier, lines in found.items()
    }


def kind_of(calibration: str) -> str:
    """The calibration of a kind of chips, `tpu` or `gpu`, whose median is the default for the kind's calibrations."""
    return "tpu" if calibration.lower().startswith("tpu") else "gpu"


def _read(cells: dict[str, str], place: Place) -> tuple[tuple[str, str], float]:
    """A line's calibration and parameter, and its value. Raises UserError."""
    identifier, name = cells["calibration"].strip(), cells["parameter"].strip()
    if not identifier:
        raise UserError("the calibration has no name", place=replace(place, column="calibration"), remedy="name it")
    if name not in BY_NAME:
        remedy = nearest(name, [*BY_NAME, *OF_STACKS])
        raise UserError(f"unknown parameter {name!r}", place=replace(place, column="parameter"), remedy=remedy)
    parameter = BY_NAME[name]
    if (unit := cells.get("unit", "").strip()) not in ("", parameter.unit):
        raise UserError(
            f"{name} is in {parameter.unit}, not {unit}", place=replace(place, column="unit"), remedy="convert it"
        )
    with placed(replace(place, column="value")):
        value = number(cells["value"].strip(), parameter.unit)
    _check_bounds(parameter, value, replace(place, column="value"))
    if (off := cells.get("error", "").strip()) and not PLAIN.fullmatch(off):
        remedy = "write a share such as 0.08, or leave it blank"
        raise UserError(f"{off!r} is no number", place=replace(place, column="error"), remedy=remedy)
    echo(f"{place}: {name}", cells["value"].strip(), parameter.unit, value, str(place.path))
    return (identifier, name), value


def _check_bounds(parameter: Parameter, value: float, place: Place) -> None:
    if not parameter.lower <= value <= parameter.upper:
        what = f"{parameter.name} of {value:g} is beyond its bounds"
        remedy = f"it is from {parameter.lower:g} to {parameter.upper:g}"
        meant = share_meant(value) if parameter.unit == "1" and parameter.upper <= 1 else ""
        raise UserError(what, place=place, remedy=f"{remedy}; write {meant}" if meant else remedy)


def _origins(lines: Sequence[Stated]) -> str:
    """On what a calibration's numbers are fitted: the sources of all of them, once each, and whether some are priors.

    Each number's own runs, or the reason for its prior, are in the file: all of them would name most several times.
    """
    fitted = [line for line in lines if line.cells.get("rows", "").strip()]
    names = sorted({name for line in fitted for name in line.cells.get("sources", "").split()})
    told = [line.cells.get("sources", "").strip() or line.file.name for line in lines if line not in fitted]
    if fitted:
        told = ["other numbers are priors" if each.startswith("prior: ") else each for each in told]
    return "; ".join(([f"fitted on runs of {' '.join(names)}"] if fitted else []) + list(dict.fromkeys(told)))


REPLACED = "yours from "  # begins what is said of a shipped calibration of which a user's file replaces numbers
MOST_NAMED = 3  # most sources, or replaced numbers, to name


def ids_in(path: Path) -> set[str]:
    """The ids of the calibrations in a file."""
    return {cells["calibration"].strip() for _, cells in csvfile.read(path, required=REQUIRED).records()}


def _source(identifier: str, lines: Sequence[Stated], own: Path | None) -> str:
    """On what a calibration's numbers rest: `yours from mine.csv: hbm_efficiency`, and what they are fitted on.

    `own` is the user's file if the calibration is a shipped one.
    """
    names = sorted(line.cells["parameter"].strip() for line in lines if line.file == own)
    yours = f"{REPLACED}{called(own)}: {few(names, MOST_NAMED)}" if own and names else ""
    told = [line for line in lines if line.file != own or line.cells.get("sources", "").strip()]
    return "; ".join(filter(None, [yours, _origins([line for line in told if line.calibration == identifier])]))


def replaced(source: str) -> str:
    """A user's numbers in a shipped calibration, by its source as a workbook has it: `mine.csv: hbm_efficiency`."""
    return source.removeprefix(REPLACED).partition(";")[0] if source.startswith(REPLACED) else ""


def calibration_origins(own: Path | None, *, only: bool = False) -> dict[tuple[str, str], str]:
    """By calibration and parameter, the origin of its number, in a sentence that names the calibration with the line.

    `own` is the user's file, whose lines precede the shipped ones, or replace them with `only`. Raises UserError for a
    file without calibrations.
    """
    return {
        (identifier, name): f"{line.calibration} in {line.file.name}: {_said(line.cells) or f'line {line.line}'}"
        for identifier, lines in stated_calibrations(own, only=only).items()
        for name, line in lines.items()
    }


def _said(cells: Mapping[str, str]) -> str:
    """`fitted on 194 runs of 8 sources (mpt, titan, ...), error 9.6 % with each left out, from 0.3 to 1`."""
    rows, sources = cells.get("rows", "").strip(), cells.get("sources", "").strip()
    if not rows:
        return sources
    named = sources.split()
    first = ", ".join(named[:MOST_NAMED]) + (", ..." if len(named) > MOST_NAMED else "")
    said = [f"fitted on {rows} runs of {counted(len(named), 'source')} ({first})"]
    if error := cells.get("error", "").strip():
        said.append(f"median error {percent(float(error))} with each left out")
    if cells.get("lower", "").strip() and cells.get("upper", "").strip():
        said.append(f"may be {cells['lower'].strip()} to {cells['upper'].strip()}")
    return ", ".join(said)


def known_files(path: Path | None = None) -> tuple[Path, ...]:
    """The files of calibrations that the running command or API call was given; `path` is added to them."""
    files = progress.given_files()
    if path is not None and (whole := path.absolute()) not in files:
        files.append(whole)
    return tuple(files)


def running(name: str) -> str:
    """The installed version of `planner` or `jax`; blank if it isn't installed."""
    if name == "planner":
        return __version__
    from importlib.metadata import PackageNotFoundError, version  # here, for it takes 15 ms to load

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def warn_of_age(path: Path, lines: Iterable[Mapping[str, str]]) -> None:
    """Warn once per file that its lines were fitted with other software versions than those running."""
    for name in SOFTWARE:
        now = running(name)
        others = sorted({then for cells in lines for then in cells.get(name, "").split() if now and then != now})
        if others:
            progress.warn(f"{path.name} was fitted under {name} {', '.join(others)}, and {name} {now} runs here")
