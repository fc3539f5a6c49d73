"""This machine as a row of a hardware CSV, with measured peaks, bandwidth and links.

A peak is the best median rate of matmuls of several sizes, a bandwidth that of a copy far larger than the caches:
sustained rates, not those of a data sheet. Numbers of the device that aren't measured here, such as its on-chip memory,
are taken from the database.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from planner import catalog
from planner.catalog import Value
from planner.catalog.columns import refuse_new_id
from planner.compare.comparison_cases import ComparisonCase
from planner.compare.measuring import predicted
from planner.compare.row_of_measurement import device_kinds
from planner.errors import Place, UserError, placed
from planner.formulas import library
from planner.measure import clock, devices
from planner.measure.devices import TimedDevice
from planner.measure.mesh import MeshSpec
from planner.measure.records import Measurement, in_digits
from planner.measure.sharded import collective
from planner.measure.spread import laid_out
from planner.measure.timed_cases import Case, measure_cases
from planner.measure.timing import NOISY, Rules
from planner.measure.workload import Arguments, CaseSkipped
from planner.number_text import shown, spoken
from planner.stored_rows import HARDWARE, completed, put, readable

DTYPES = ("bf16", "fp32", "int8", "fp16", "fp8", "tf32")  # in the order in which a short budget takes them
TF32_ON = "gpu"  # elsewhere it is another name for fp32 or bf16
OUTPUTS = {"int8": "int32", "fp8": "bf16", "tf32": "fp32"}
OPERANDS = {"tf32": "fp32"}
SIZES = (4096, 8192, 16384, 2048)  # of square matmuls on an accelerator; the first is short and near the best
CPU_SIZES = (512, 1024, 2048, 4096)
COPY_BYTES = 2.0**30  # of one array on an accelerator
CPU_COPY = 2.0**28, 2.0**29  # the least and the most on a CPU: larger ones only take longer
BEYOND = 2  # an array to copy is so many times as large as the largest cache
MEMORY_SHARE = 1 / 16  # of the memory that is free, which an array of a copy takes at most
RULES = Rules(
    warmup_s=0.1, max_samples=20, loop_s=0.01, sample_s=0.3, contested_s=0.6, patience_s=2.5, profiled_calls=5
)  # brief: there are many, and of each kind the best counts
LEAST_CASES = 2
CALLS = 16  # of a case whose calls are longer than a sample: compiled, timed by three clocks and profiled
DIGITS = 4
PART_OF_CHIP = 0.6  # of the chip's memory: a device that holds less is one of its cores
BANDWIDTH, LINKS, PEAK = "hbm_bandwidth", "scaleup_bandwidth", "peak_"
PAYLOADS = (2.0**24, 2.0**26, 2.0**28)  # bytes of an all-reduce, of which the best counts
CALIBRATION = "measured"  # of chips whose peaks are what they reach


@dataclass(frozen=True)
class HostFigure:
    """The measured value of one column, in its SI unit, the spread of its samples over their median, and the method."""

    column: str
    value: float
    spread: float
    how: str

    @property
    def unit(self) -> str:
        """The unit of its column."""
        return HARDWARE.by_name[self.column].unit


@dataclass(frozen=True)
class AddedHost:
    """What was added: the figures, and notes about them."""

    figures: Sequence[HostFigure]
    notes: Sequence[str]


def add(name: str, to: Path, *, force: bool, budget_s: float, progress: Callable[[str], None]) -> AddedHost:
    """Measure this machine and add it to a hardware CSV as the row `name`; `progress` gets a line for each case.

    Raises UserError, before measuring, if the name can't be an id, exists and may not be replaced, or the file is no
    hardware CSV; and afterwards if too little could be measured. In these cases, and on Ctrl-C, the file is unchanged.
    """
    with placed(Place(to, column="id")):
        refuse_new_id(name)
    readable(HARDWARE, to, name, force=force)
    shipped = catalog.load_hardware()
    device = devices.describe(clock.devices(), device_kinds(shipped))
    asked = dict(_cases(device))
    budget = _Budget(budget_s, {case.key: at for at, case in asked.items()})
    cases = list(asked.values())
    rows = list(_in_time(measure_cases(cases, kinds={}, progress=progress, rules=RULES, late=budget.late), budget))
    timed = dict(zip(asked, rows, strict=False))
    figures = _figures(timed) | _links(device, budget)
    if BANDWIDTH not in figures or not any(column.startswith(PEAK) for column in figures):
        reason = next(
            (row.reason for row in rows if row.reason), f"{len(rows)} of {len(asked)} cases in {budget_s:g} s"
        )
        raise UserError(f"too little could be measured: {reason}", remedy="give it a longer --budget, or a quiet hour")
    known = shipped.rows[device.hardware_ids[0]] if len(device.hardware_ids) == 1 else {}
    cells = _cells(name, device, figures, known)
    texts = {column: _text(value) for column, value in cells.items()}
    completed(HARDWARE, texts, to)  # tells what is doubtful of it
    put(HARDWARE, to, texts, force=force)
    notes = [f"{name} is the id of a shipped chip too: where {to} is given, yours counts"] if shipped.has(name) else []
    return AddedHost(list(figures.values()), [*notes, *_notes(timed, figures, known)])


class _Budget:
    """The time budget in s, with the column and size of each case.

    A case is expected to take as long as the previous one of its column, or, if its calls are long, as its number of
    calls scaled by the work.
    """

    def __init__(self, seconds: float, cases: Mapping[str, tuple[str, float]]) -> None:
        self.seconds, self.cases = seconds, cases
        self.begin = self.begun = time.monotonic()
        self.asked, self.column, self.size = 0, "", 0.0
        self.took: dict[str, tuple[float, float, float]] = {}  # of a column's last case: size, seconds, those of a call

    @property
    def left(self) -> float:
        """The remaining seconds."""
        return self.seconds - (time.monotonic() - self.begin)

    def late(self, case: Case) -> str:
        """Why a case that would begin now can't end in time; blank if it can, and for the first two cases."""
        self.asked += 1
        self.begun, (self.column, self.size) = time.monotonic(), self.cases[case.key]
        size, seconds, of_a_call = self.took.get(self.column, (self.size, 0.0, 0.0))
        needs = max(seconds, CALLS * of_a_call * (self.size / size) ** 3)
        if self.asked <= LEAST_CASES or needs <= self.left:
            return ""
        return f"{self.size:g} would take {needs:.0f} s, and of the budget {max(0.0, self.left):.0f} s are left"

    def ended(self, row: Measurement) -> None:
        """Record the duration of the case that began last."""
        if row.status == "measured":
            self.took[self.column] = self.size, time.monotonic() - self.begun, row.t_median


def _in_time(rows: Iterable[Measurement], budget: _Budget) -> Iterator[Measurement]:
    """The rows until the budget is spent; the first two cases, a copy and a matmul, always run.

    Raises KeyboardInterrupt when Ctrl-C ended a case.
    """
    for number, row in enumerate(rows, start=1):
        if row.status == "interrupted":
            raise KeyboardInterrupt
        budget.ended(row)
        yield row
        if number >= LEAST_CASES and budget.left < 0:
            return


def _cases(device: TimedDevice) -> Iterator[tuple[tuple[str, float], Case]]:
    """Yields the cases by column and size: a copy first, then each size of matmul in all dtypes."""
    is_cpu = device.platform == "cpu"
    size = _copy_bytes(is_cpu)
    copy = {"n_elements": size // 4, "n_operands": 1.0, "element_bytes": 4.0}
    yield (BANDWIDTH, size), _case(f"Copy of {spoken(size, 'byte')}", "elementwise", copy)
    for size in CPU_SIZES if is_cpu else SIZES:
        for dtype in DTYPES:
            if dtype != "tf32" or device.platform == TF32_ON:
                operand_dtype = OPERANDS.get(dtype, dtype)
                given: dict[str, Value] = dict.fromkeys(("tokens", "d_in", "d_out"), float(size))
                given |= {"weight_dtype": operand_dtype, "activation_dtype": operand_dtype, "compute_dtype": dtype}
                given["output_dtype"] = OUTPUTS.get(dtype, dtype)
                yield (PEAK + dtype, size), _case(f"Matmul {size} {dtype}", "matmul", given)


def _copy_bytes(is_cpu: bool) -> float:
    """The bytes of an array to copy: larger than the caches with its copy, and small enough for the memory."""
    least, most = CPU_COPY
    size = min(max(least, BEYOND * devices.last_level_cache()), most) if is_cpu else COPY_BYTES
    free = devices.free_memory(clock.devices()[0])
    return size if free is None else min(size, MEMORY_SHARE * free)


def _case(label: str, template: str, given: Mapping[str, Value]) -> Case:
    loaded = library.load(template)
    return predicted(ComparisonCase(label, loaded, loaded.inputs(given)), "")


def _figures(rows: Mapping[tuple[str, float], Measurement]) -> dict[str, HostFigure]:
    """The best median rate of each column."""
    found: dict[str, HostFigure] = {}
    for (column, size), row in rows.items():
        if row.status == "measured":
            rate = row.achieved_bandwidth if column == BANDWIDTH else row.achieved_flops
            what = f"copy of {spoken(size, 'byte')}" if column == BANDWIDTH else f"{size:g} x {size:g} matmul"
            how = f"{what}, {row.n_samples} samples by {row.method}"
            if column not in found or rate > found[column].value:
                found[column] = HostFigure(column, rate, row.spread, how)
    return found


def _links(device: TimedDevice, budget: _Budget) -> dict[str, HostFigure]:
    """What each device of this process sends, in bytes/s, from all-reduces over all of them.

    Empty for one, or several hosts.
    """
    if device.n_devices < 2 or device.n_processes > 1:
        return {}
    mesh = laid_out(MeshSpec((("data", device.n_devices),)))
    ways, best = device.n_devices, None
    for payload in PAYLOADS:
        if best is not None and budget.left < 0:
            break
        given = Arguments("collective", {"collective": "all_reduce", "array_bytes": payload})
        try:
            time_s = clock.time_workload(collective(given, mesh, "data", ways), RULES).primary
        except CaseSkipped:
            continue
        bus = 2 * (ways - 1) / ways * payload / time_s.median  # as NCCL's tests count it
        if best is None or bus > best.value:
            how = f"all-reduce of {spoken(payload, 'byte')} over {ways} devices, {time_s.n_samples} samples"
            best = HostFigure(LINKS, bus, time_s.spread, how)
    return {LINKS: best} if best else {}


def _cells(
    name: str, device: TimedDevice, figures: Mapping[str, HostFigure], known: Mapping[str, Value]
) -> dict[str, Value]:
    """The row of a hardware CSV: measured values take precedence over the database's, and the system's over both."""
    measured: dict[str, Value] = {column: float(f"{figure.value:.{DIGITS}g}") for column, figure in figures.items()}
    unmeasured = dict.fromkeys(column for column in known if column.startswith(PEAK))
    device_memory = devices.memory(clock.devices()[0])
    if known.get("topology") not in (None, "switch"):
        measured.pop(LINKS, None)
    elif LINKS in measured:
        measured |= {"link_bandwidth": measured[LINKS], "network": known.get("network") or "switch"}
        measured |= {"node_size": known.get("node_size") or device.n_devices, "topology": "switch"}
    own: dict[str, Value] = {
        "name": known.get("name") or (devices.host_name() if device.platform == "cpu" else device.device_kind),
        "kind": device.platform if device.platform in ("tpu", "gpu") else "other",
        "hbm_bytes": device_memory
        if _is_part(device_memory, known) or not known.get("hbm_bytes")
        else known["hbm_bytes"],
        "jax_device_kind": device.device_kind,
        "calibration": CALIBRATION,
        "source_flops": _source(device, [figure for figure in figures.values() if figure.column.startswith(PEAK)]),
        "source_hbm": _source(device, [figures[BANDWIDTH]]),
        "check_level": "measured",
    }
    if LINKS in measured:
        own["source_interconnect"] = _source(device, [figures[LINKS]])
    return {"id": name, **known, **unmeasured, **measured, **own}


def _is_part(device_memory: float | None, known: Mapping[str, Value]) -> bool:
    """Whether a device with so many bytes of memory is only a part of the chip that the database knows."""
    whole = known.get("hbm_bytes")
    return device_memory is not None and isinstance(whole, float) and device_memory < PART_OF_CHIP * whole


def _source(device: TimedDevice, figures: Sequence[HostFigure]) -> str:
    """How some figures were measured, on which device, with which versions, and when."""
    described = "; ".join(f"{figure.column}: {figure.how}, spread {figure.spread:.1%}" for figure in figures)
    on = devices.host_name() if device.platform == "cpu" else f"{device.device_kind}, {device.runtime_version}"
    ran = f"measured {datetime.now(UTC):%Y-%m-%d} by planner hardware add with JAX {device.jax} on {on}"
    return f"{ran}: of several sizes of matmul the best median; {described}"


def _text(value: Value) -> str:
    """The text of a cell of the row."""
    if isinstance(value, float):
        return in_digits(value)
    return value or ""


def _notes(
    timed: Mapping[tuple[str, float], Measurement], figures: Mapping[str, HostFigure], known: Mapping[str, Value]
) -> Iterator[str]:
    """Notes for a reader of the figures."""
    if known:
        yield f"this is a {known['name']} by its device kind; what isn't measured here is from the database"
        for figure in figures.values():
            sheet = known.get(figure.column)
            if isinstance(sheet, float):
                yield f"{figure.column} is {figure.value / sheet:.0%} of its data sheet"
        if _is_part(devices.memory(clock.devices()[0]), known):
            yield "a device of JAX is a part of such a chip here: the row is of the part, links and power of the chip"
    yield from dict.fromkeys(f"{column}: {row.reason}" for (column, _), row in timed.items() if row.reason)
    if LINKS in figures and known.get("topology") not in (None, "switch"):
        reached = shown(figures[LINKS].value, "byte/s")
        yield f"all-reduces over this slice reach {reached}; the row's links are the data sheet's"
    if LINKS in figures and not known:
        yield "peaks and bandwidth are of one device alone: devices that share a processor have them together"
    loose = [figure.column for figure in figures.values() if figure.spread > NOISY]
    if loose:
        yield f"{', '.join(loose)}: the samples differ by more than {NOISY:.0%}; something else may be running"
