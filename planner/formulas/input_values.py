"""The values that an input may have, by its row, and parsing of settings as a user types them: `name=value`.

The same limits hold on the command line and in a workbook's validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import isfinite
from typing import NamedTuple

from planner import catalog, plausible, progress, typed_numbers
from planner.catalog.columns import FLAGS
from planner.errors import UserError
from planner.formulas.template import CALCULATED, Row, Template
from planner.formulas.text import Binary, Name, Text, walk

LARGEST = 1e30  # beyond it products overflow
VERBS = ("is_", "has_", "keeps_", "shares_", "scatters_")  # how the name of a yes or no begins
CALIBRATIONS = ("calibration_id", "chip_calibration")  # texts that name a row of Calibration
SWITCHES = ("axes_overlap", "kv_head_sharding", "cache_by_batch")  # and those of the field's own terms
BOUNDED = frozenset(
    {"efficiency", "mfu", "offload", "rate", "fraction", "recomputed", "exposed"}
)  # of these, the inputs that are at most 1
SHARES = frozenset({"efficiency", "fraction", "share", "mfu", "offload", "rate", "exposed"})  # words of a share's name
COUNTED = ("1", "chip")  # units in which things are counted
OR_ZERO = (
    "hop_latency",
    "zero_stage",
    "checkpoint_exposed",
    "restart_time",
    "spare_share",
    "service_variation",
    "electricity_price",
    "remat_layers_fraction",
    "logit_copies",
)  # inputs whose 0 means something, though their default is above it
STAGES = {"zero_stage": 3.0}  # inputs that name one of a few stages, from 0 to the last
LOOKED_AT = ("input", "hardware", "model")  # rows whose numbers are held to what they usually are
PARTS = {"hbm_reserve_bytes": "hbm_bytes"}  # inputs that take a part of a whole, and leave something of it


class Limits(NamedTuple):
    """A flag is 0 or 1; a number is not below 0, above 0 where `is_positive`, and not above `most`.

    `is_stage`: one of the whole numbers from 0 to `most`.
    """

    is_flag: bool
    is_positive: bool
    most: float = LARGEST
    is_stage: bool = False

    def fault(self, number: float) -> str:
        """What is wrong with a number, or nothing."""
        if self.is_flag:
            return "" if number in (0, 1) else "1 is yes and 0 is no"
        if self.is_stage:
            fits = 0 <= number <= self.most and number == int(number)
            return "" if fits else f"a whole number from 0 to {self.most:g} is wanted"
        if number < 0 or (self.is_positive and number == 0):
            return "a number above 0 is wanted" if self.is_positive else "a number of at least 0 is wanted"
        return "" if number <= self.most else f"a number of at most {self.most:g} is wanted"


def limits(row: Row) -> Limits:
    """The limits of a row's value: what has a default above 0 is itself above 0; anything else may be 0.

    An efficiency, a rate or another such share of a plan is at most 1; one that is read off a profile may be more.
    """
    is_positive = row.kind == "input" and isinstance(row.default, float) and row.default > 0
    is_bounded = row.kind == "input" and is_share(row) and not BOUNDED.isdisjoint(row.name.split("_"))
    if row.kind == "input" and (last := stages(row.name)):
        return Limits(is_flag=False, is_positive=False, most=last, is_stage=True)
    most = 1.0 if is_bounded else LARGEST
    return Limits(is_flag(row.name, row.unit), is_positive and not row.name.endswith(OR_ZERO), most)


def stages(name: str) -> float | None:
    """The last stage, where a row of this name says one of a few."""
    return next((last for known, last in STAGES.items() if name.endswith(known)), None)


def wholes(given: Iterable[str]) -> list[str]:
    """The names of the numbers that some inputs are a part of."""
    return [PARTS[name] for name in given if name in PARTS]


def is_flag(name: str, unit: str) -> bool:
    """Whether a row of this name and unit is a yes or a no."""
    return unit == "1" and (name.startswith(VERBS) or name in SWITCHES)


def is_share(row: Row) -> bool:
    """Whether a row is a part of a whole, from 0 to 1, as an efficiency is."""
    return row.unit == "1" and not SHARES.isdisjoint(row.name.split("_"))


def is_whole(row: Row) -> bool:
    """Whether a row counts something, so that only whole numbers mean anything: chips, sequences, tokens, layers.

    What has usual parts (templates/plausible.csv) doesn't, though it stands at a whole number: a load over the mean.
    """
    if row.unit not in COUNTED or is_share(row):
        return False
    if row.kind != "input":
        return row.kind == "model"
    is_whole_now = row.default is None or (isinstance(row.default, float) and row.default == int(row.default))
    return is_whole_now and plausible.is_counted(row.name)


def case_fault(row: Row, value: float | str) -> str:
    """What is wrong with the input of a case that was run, or nothing: a dimension without a default is at least 1.

    Only whole numbers can be run, save of what has usual parts (templates/plausible.csv), as a mean over layers.
    """
    if row.unit == "text" or isinstance(value, str):
        try:
            meant(row, str(value))
        except UserError as error:
            return error.what.removeprefix(f"{row.name}={value}: ")
        return "" if row.unit == "text" else "a number is wanted"
    if not isfinite(value):
        return "a finite number is wanted"
    if row.unit == "1" and not is_share(row):
        if row.default is None and value < 1 and not is_flag(row.name, row.unit):
            return "a number of at least 1 is wanted"
        if value != value // 1 and is_whole(row):
            return "a whole number is wanted"
    return limits(row).fault(value)


def with_choices(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows, each text input with its choices in the order of their first use; a dtype's are dtypes.csv's."""
    choices: dict[str, dict[str, None]] = {
        row.name: {} for row in rows if row.kind == "input" and row.unit == "text" and not id_table(row)
    }
    for name, text in _compared(rows, choices) if choices else ():
        choices[name][text] = None
    return tuple(replace(row, choices=tuple(choices[row.name])) if choices.get(row.name) else row for row in rows)


def _compared(rows: tuple[Row, ...], names: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Each `name="text"` of the formulas, for these names."""
    for row in rows:
        if row.kind in CALCULATED and '"' in row.formula and any(name in row.reads for name in names):
            for node in walk(row.expression.root):
                if isinstance(node, Binary) and node.op in ("=", "<>"):
                    for one, other in ((node.left, node.right), (node.right, node.left)):
                        if isinstance(one, Name) and isinstance(other, Text) and one.name in names:
                            yield one.name, other.value


def parsed(settings: Iterable[str]) -> dict[str, str]:
    """`name=value` texts as a mapping. Raises UserError for a text without a name or an equals sign."""
    pairs: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise UserError(f"--set {setting!r} is not name=value", remedy="write --set batch=32")
        name, value = name.strip(), value.strip()
        if pairs.get(name, value) != value:
            progress.warn(f"{name} is set twice: {value} counts, not {pairs[name]}")
        pairs[name] = value
    return pairs


def typed(row: Row, text: str) -> float | str | None:
    """A value as typed by a user for a row, as `meant` has it.

    What wasn't typed as a plain number is said once as it was read, and what is implausible is doubted.
    """
    value = meant(row, text)
    if isinstance(value, float):
        typed_numbers.echo(row.name, text, row.unit, value)
        if row.kind in LOOKED_AT and (doubtful := plausible.doubt(row.name, row.unit, value)):
            progress.warn(f"{row.name} = {doubtful}")
    return value


def meant(row: Row, text: str) -> float | str | None:
    """The value that a text means for a row: a number (`8k`, `10ms`, `8*128`), a text, or N/A.

    Raises UserError for what is no number where a number is wanted: never guessed from a decimal comma.
    """
    if text in ("", "#N/A", "N/A", "NA"):
        return None
    if row.unit == "text":
        return _known(row, text)
    if is_flag(row.name, row.unit) and text.lower() in FLAGS:
        return FLAGS[text.lower()]
    try:
        number = typed_numbers.read(text, row.unit)
    except UserError as error:
        raise UserError(f"{row.name}={text}: {error.what}", remedy=error.remedy) from None
    if fault := limits(row).fault(number):
        raise UserError(f"{row.name}={text}: {fault}")
    return number


def id_table(row: Row) -> str:
    """The table whose ids a text row may hold: `dtypes`, `stacks`, `calibration`; blank for any other text."""
    words = row.name.split("_")
    ends = {"dtype": "dtypes", "stack": "stacks"}
    return "calibration" if row.name in CALIBRATIONS else ends.get(words[-1], "")


def _known(row: Row, text: str) -> str:
    """The dtype as the database writes it; a choice as the template writes it; any other text as it is."""
    table = id_table(row)
    if table == "dtypes":
        return catalog.load_dtypes().identify(text)
    if table == "stacks":
        return catalog.identified_stack(text)
    if not row.choices:
        return text
    written = {choice.lower(): choice for choice in row.choices}
    if text.lower() not in written:
        raise UserError(f"{row.name}={text}: no such choice", remedy=f"choose one of {', '.join(row.choices)}")
    return written[text.lower()]


def values(
    template: Template, settings: Iterable[str], read: Callable[[Row, str], float | str | None] = typed
) -> dict[str, float | str | None]:
    """The --set options as values of a template's rows; `meant` reads ours. Raises UserError for an unknown name."""
    return {name: read(template.row(name), text) for name, text in parsed(settings).items()}


def check_together(given: Iterable[str], known: Mapping[str, float | str | None]) -> None:
    """Raise UserError where an input that a user typed is a part of a number of the plan, and leaves nothing of it.

    `known` has the `given` inputs and what they are a part of, by name.
    """
    for name in given:
        part, whole = known.get(name), known.get(PARTS.get(name, ""))
        if isinstance(part, float) and isinstance(whole, float) and part >= whole:
            what = f"{name}={part:,.0f}: nothing is left of {PARTS[name]}, which is {whole:,.0f}"
            raise UserError(what, remedy="type less")
