"""The allowed values of inputs, and parsing of settings as users type them: `name=value`.

The same limits apply on the command line and in a workbook's data validations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import isfinite
from typing import NamedTuple

from planner import catalog, plausible, plausible_ratios, progress, typed_numbers
from planner.catalog.calibrations import PARAMETERS
from planner.catalog.columns import FLAGS
from planner.errors import UserError
from planner.formulas.template import CALCULATED, Row, Template
from planner.formulas.text import Binary, Name, Text, walk

CHOICE_WORDS = {"full": "block", "nothing_saveable": "block"}
"""What MaxText and Megatron-LM, and JAX, call a choice that the templates call otherwise."""
_TWICE_PER_CENT = 10.0  # 1,000 %: from here on a number with a percent sign was already in per cent without it
LARGEST = 1e30  # beyond it products overflow
VERBS = ("is_", "has_", "keeps_", "shares_", "scatters_")  # prefixes of flags
CALIBRATIONS = ("calibration_id", "chip_calibration")  # text rows with an id of Calibration
SWITCHES = ("axes_overlap", "kv_head_sharding", "cache_by_batch")  # flags with established names
BOUNDED = frozenset(
    {"efficiency", "mfu", "offload", "rate", "fraction", "recomputed", "exposed"}
)  # words of the names of inputs that are at most 1
SHARES = frozenset(
    {"efficiency", "fraction", "share", "mfu", "offload", "rate", "exposed"}
)  # words of the names of shares
COUNTED = ("1", "chip")  # units of counts
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
    "bubble_kept_fraction",
)  # inputs that may be 0 although their default is positive
ABOVE_0 = ("train_tokens",)  # looked up, and chosen like an input
LOOKED_UP_SHARES = frozenset({"peer_share", *(each.name for each in PARAMETERS if (each.upper, each.unit) == (1, "1"))})
"""Numbers of chips and calibrations that are at most 1."""
STAGES = {"zero_stage": 3.0}  # inputs that select a stage, and the last stage
LOOKED_AT = ("input", "hardware", "model")  # rows whose numbers are checked for plausibility
BITS_OF_A_BYTE = 8
PARTS = {"hbm_reserve_bytes": "hbm_bytes"}  # inputs that must be less than another number


class Limits(NamedTuple):
    """A flag is 0 or 1; a number is at least 0, above 0 if `is_positive`, and at most `most`.

    `is_stage` means one of the whole numbers from 0 to `most`.
    """

    is_flag: bool
    is_positive: bool
    most: float = LARGEST
    is_stage: bool = False

    def fault(self, number: float, text: str = "") -> str:
        """What is wrong with a number, typed as `text` if that is known; blank if nothing is."""
        if self.is_flag:
            return "" if number in (0, 1) else "1 is yes and 0 is no"
        if self.is_stage:
            fits = 0 <= number <= self.most and number == int(number)
            return "" if fits else f"a whole number from 0 to {self.most:g} is wanted"
        if number < 0 or (self.is_positive and number == 0):
            return "a number above 0 is wanted" if self.is_positive else "a number of at least 0 is wanted"
        if number <= self.most:
            return ""
        meant = plausible.share_meant(number) if self.most == 1 else ""
        if self.most == 1 and text.endswith("%") and number < _TWICE_PER_CENT:
            return f"a number of at most {self.most:g} is wanted; type 100% or less"
        return f"a number of at most {self.most:g} is wanted{meant and f'; write {meant}'}"


def limits(row: Row) -> Limits:
    """The limits of a row's value: positive if its default is; otherwise 0 is allowed.

    Efficiencies, rates and other shares set in a plan are at most 1; those measured by a profile may be more.
    """
    is_positive = row.kind == "input" and isinstance(row.default, float) and row.default > 0
    is_positive = is_positive or row.name in ABOVE_0
    is_bounded = row.kind == "input" and is_share(row) and not BOUNDED.isdisjoint(row.name.split("_"))
    is_bounded = is_bounded or row.name in LOOKED_UP_SHARES
    if row.kind == "input" and (last := stages(row.name)):
        return Limits(is_flag=False, is_positive=False, most=last, is_stage=True)
    most = 1.0 if is_bounded else LARGEST
    return Limits(is_flag(row.name, row.unit), is_positive and not row.name.endswith(OR_ZERO), most)


def stages(name: str) -> float | None:
    """The last stage if a row of this name selects one of a few stages; else None."""
    return next((last for known, last in STAGES.items() if name.endswith(known)), None)


def wholes(given: Iterable[str]) -> list[str]:
    """The names of the numbers of which some inputs are a part."""
    return [PARTS[name] for name in given if name in PARTS]


def is_flag(name: str, unit: str) -> bool:
    """Whether a row of this name and unit is a yes or no."""
    return unit == "1" and (name.startswith(VERBS) or name in SWITCHES)


def is_share(row: Row) -> bool:
    """Whether a row is a fraction of a whole, such as an efficiency."""
    return row.unit == "1" and not SHARES.isdisjoint(row.name.split("_"))


def share_fault(row: Row, value: float) -> str:
    """What is wrong with a target or a measured value of a share of at most 1, such as an MFU; blank if nothing is."""
    is_bounded = is_share(row) and not BOUNDED.isdisjoint(row.name.split("_"))
    return Limits(is_flag=False, is_positive=False, most=1.0).fault(value) if is_bounded else ""


def is_whole(row: Row) -> bool:
    """Whether a row is a count, so that only whole numbers make sense: chips, sequences, tokens, layers.

    Rows with usual fractions in templates/plausible.csv aren't, although their default is whole, such as a load over
    the mean.
    """
    if row.unit not in COUNTED or is_share(row):
        return False
    if row.kind != "input":
        return row.kind == "model"
    is_whole_now = row.default is None or (isinstance(row.default, float) and row.default == int(row.default))
    return is_whole_now and plausible.is_counted(row.name)


def case_fault(row: Row, value: float | str) -> str:
    """What is wrong with an input of a case that was run; blank if nothing is.

    A dimension without a default is at least 1. Only whole numbers can be run, except for rows with usual fractions
    (templates/plausible.csv), such as a mean over layers.
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
    """The rows, with the choices of each text input in order of first use; a dtype's are those of dtypes.csv.

    A text of a chip has those of its column. The default is one of them, also where a template that is a part of
    others compares it with nothing.
    """
    choices: dict[str, dict[str, None]] = {
        row.name: {} for row in rows if row.kind == "input" and row.unit == "text" and not id_table(row)
    }
    for name, text in _compared(rows, choices) if choices else ():
        choices[name][text] = None
    for row in rows:
        if choices.get(row.name) and isinstance(row.default, str):
            choices[row.name][row.default] = None
    for row in rows:
        if row.kind == "hardware" and row.unit == "text":
            choices[row.name] = dict.fromkeys(catalog.choices(row.formula or row.name))
    return tuple(replace(row, choices=tuple(choices[row.name])) if choices.get(row.name) else row for row in rows)


def _compared(rows: tuple[Row, ...], names: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Each comparison `name="text"` in the formulas, for these names."""
    known = frozenset(names)
    comparing = (row for row in rows if row.kind in CALCULATED and '"' in row.formula)
    for node in (node for row in comparing if not known.isdisjoint(row.reads) for node in walk(row.expression.root)):
        if isinstance(node, Binary) and node.op in ("=", "<>"):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(one, Name) and isinstance(other, Text) and one.name in known:
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


def typed(row: Row, text: str, file: str = "") -> float | str | None:
    """The value of a text typed for a row, as by `meant`; `file` names the file that has it.

    Echoes how it was read unless it is a plain number, and warns about implausible values.
    """
    value = meant(row, text)
    if isinstance(value, float):
        typed_numbers.echo(row.name, text, row.unit, value, file)
        if row.kind in LOOKED_AT and (doubtful := plausible.doubt(row.name, row.unit, value)):
            progress.warn(f"{row.name} = {doubtful}")
    return value


def meant(row: Row, text: str) -> float | str | None:
    """The value of a text typed for a row: a number (`8k`, `10ms`, `8*128`), a text, or None for N/A.

    Raises UserError where a number is required and the text isn't one; a decimal comma is never guessed.
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
        raise UserError(f"{row.name}={text}: {error.what}", remedy=_bits_of(row, text) or error.remedy) from None
    if fault := limits(row).fault(number, text.strip()):
        raise UserError(f"{row.name}={text}: {fault}")
    return number


def _bits_of(row: Row, text: str) -> str:
    """What to write for a number of bits where a dtype was typed: the bits of each dtype whose id contains the text.

    Blank for other rows and texts. The bits include the scales of blocks, as dtypes.csv does.
    """
    dtypes = catalog.load_dtypes()
    if not row.name.endswith("_bits") or not dtypes.has(text):
        return ""
    typed_id = dtypes.identify(text)
    sizes = {each: found["bytes_per_element"] for each, found in dtypes.rows.items() if typed_id in each}
    bits = [f"{BITS_OF_A_BYTE * size:g} for {each}" for each, size in sizes.items() if isinstance(size, float)]
    return f"write its bits: {', '.join(bits)}"


def id_table(row: Row) -> str:
    """The table whose ids a text row holds: `dtypes`, `stacks`, `calibration`; blank for any other text."""
    words = row.name.split("_")
    ends = {"dtype": "dtypes", "stack": "stacks"}
    return "calibration" if row.name in CALIBRATIONS else ends.get(words[-1], "")


def _known(row: Row, text: str) -> str:
    """A dtype or stack with its id's spelling, a choice with the template's word; any other text unchanged."""
    table = id_table(row)
    if table == "dtypes":
        return catalog.load_dtypes().identify(text)
    if table == "stacks":
        return catalog.identified_stack(text)
    if not row.choices:
        return text
    written = {choice.lower(): choice for choice in row.choices}
    word = text.lower()
    found = written.get(word) or written.get(CHOICE_WORDS.get(word, ""))
    if found is None:
        raise UserError(f"{row.name}={text}: no such choice", remedy=f"choose one of {', '.join(row.choices)}")
    return found


def values(
    template: Template, settings: Iterable[str], read: Callable[[Row, str], float | str | None] = typed
) -> dict[str, float | str | None]:
    """The --set options as values of a template's rows, parsed by `read`. Raises UserError for an unknown name."""
    return {name: read(template.row(name), text) for name, text in parsed(settings).items()}


def doubt_chip(
    rows: Iterable[Row], given: Mapping[str, object], known: Callable[[str], float | str | None], of: str = ""
) -> None:
    """Warn about typed numbers of the chip that don't fit its others, such as HBM in GB/s for TB/s.

    `rows` may be any rows of a template; `known` gives the value of each that is of the chip. `of` names the scenario.
    """
    rows = [row for row in rows if row.kind == "hardware" and row.unit in plausible_ratios.SCALED]
    typed = {row.name: row.unit for row in rows if isinstance(given.get(row.name), float)}
    chip = {row.name: known(row.name) for row in rows} if typed else {}
    for name, doubtful in plausible_ratios.doubts(chip, typed, dict):
        if name in typed:
            progress.warn(f"{name}{of and f' of {of}'} = {doubtful}")


def check_together(given: Iterable[str], known: Mapping[str, float | str | None]) -> None:
    """Raise UserError if a typed input is a part of another number of the plan and leaves nothing of it.

    `known` has the `given` inputs and the numbers of which they are a part, by name.
    """
    for name in given:
        part, whole = known.get(name), known.get(PARTS.get(name, ""))
        if isinstance(part, float) and isinstance(whole, float) and part >= whole:
            what = f"{name}={part:,.0f}: nothing is left of {PARTS[name]}, which is {whole:,.0f}"
            raise UserError(what, remedy="type less")
