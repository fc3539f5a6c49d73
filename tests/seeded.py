"""A built workbook in which a test breaks something, cell by cell, and the fixtures that make one."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from xml.sax.saxutils import escape

import pytest

from planner.book.workbook import Book
from planner.check.findings import Fault
from planner.check.run import check
from planner.workbook.scenarios import plan_of
from planner.xlsx.opc import Package
from planner.xlsx.sheetedit import with_values
from planner.xlsx.sheetxml import SheetXml
from tests.read_once import recalculate_once
from tests.workbooks import build_small, few_rows

ALL = "FGH"  # the columns of the three scenarios
MODELS, CHIPS = ("llama3-70b", "mixtral-8x7b"), ("tpu-v5e", "h100-sxm")

SERVE = """name,label,unit,kind,formula,source,note
n_chips,Chips,chip,input,1,,
batch,Sequences decoded together,1,input,1,,
prompt_len,Prompt length,1,input,8192,,
activation_dtype,Activation dtype,text,input,bf16,,
compute_dtype,Compute dtype,text,input,bf16,,
memory_efficiency,Achieved share of the HBM bandwidth,1,input,1,,
hbm_bandwidth,HBM bandwidth,byte/s/chip,hardware,hbm_bandwidth,accelerators.csv,
hbm_bytes,HBM capacity,byte/chip,hardware,hbm_bytes,accelerators.csv,
peak_flops,Peak of the compute dtype,FLOP/s/chip,hardware,peak[compute_dtype],accelerators.csv,
price_per_chip_hour,Price of a chip,USD/h/chip,hardware,price_per_chip_hour,accelerators.csv,
.,Model,,include,transformer(),,
activation_element_bytes,Bytes of an activation,byte,dtype,activation_dtype,dtypes.csv,
total_peak,Peak of all chips,FLOP/s,calc,n_chips*peak_flops,test,
total_bandwidth,Bandwidth of all chips,byte/s,calc,n_chips*hbm_bandwidth,test,
step_activation_bytes,Activations entering a layer,byte,output,batch*d_model*activation_element_bytes,test,
max_batch,Largest batch in memory,1,output,(n_chips*hbm_bytes-weight_bytes)/kv_bytes_per_sequence,test,
critical_batch,Compute-bound from here,1,calc,peak_flops/hbm_bandwidth*weight_element_bytes/flop_per_mac,test,
param_time,Time to read the weights,s,calc,weight_bytes/total_bandwidth,test,
kv_time,Time to read the cache,s,calc,batch*kv_bytes_per_sequence/total_bandwidth,test,
decode_flops,Matmul work of a decode step,FLOP,calc,batch*forward_flops_per_token,test,
matmul_time,Time of the matmuls,s,calc,decode_flops/total_peak,test,
decode_step_time,Decode step,s,output,"kv_time+MAX(matmul_time,param_time)",test,
decode_step_time_calibrated,Decode step with efficiencies,s,calc,decode_step_time/memory_efficiency,test,
decode_attention_flops,Attention work of a decode step,FLOP,calc,batch*absorbed_attention_flops_per_token,test,
prefill_flops,Work of a prefill,FLOP,output,prompt_len*forward_flops_per_token,test,
memory_bytes_per_chip,Memory in use,byte/chip,calc,(weight_bytes+batch*kv_bytes_per_sequence)/n_chips,test,
step_cost_per_hour,Price of all chips,USD/h,calc,n_chips*price_per_chip_hour,test,
check_cost,It has a price,1,check,"IF(step_cost_per_hour>0,1,0)",test,
check_max_batch,A batch fits,1,check,"IF(max_batch>0,1,0)",test,
check_fits_memory,Weights and caches fit,1,check,"IF(memory_bytes_per_chip<=hbm_bytes,1,0)",test,
"""  # a few rows of serving, under their names


class Seeded:
    """A built workbook in which a test breaks something, cell by cell and without losing the cached values."""

    def __init__(self, package: Package, rows: dict[str, dict[str, int]]) -> None:
        self.package, self._rows = package, rows

    def at(self, sheet: str, name: str, column: str = "F") -> str:
        """The cell of a machine name in a column."""
        return f"{column}{self._rows[sheet][name]}"

    def formula(self, sheet: str, ref: str, text: str, cached: str = "0") -> None:
        """Put a formula into a cell."""
        self._put(sheet, ref, "", f"<f>{escape(text)}</f><v>{cached}</v>")

    def formulas(self, sheet: str, name: str, text: str) -> None:
        """Put a formula into all scenarios of a row; `{0}` is the column, `{name}` the row of another name."""
        for column in ALL:
            self.formula(sheet, self.at(sheet, name, column), text.format(column, **self._rows[sheet]))

    def type(self, sheet: str, ref: str, value: str | float | None) -> None:
        """Type a value into a cell, over a formula too; None empties it."""
        if isinstance(value, str):
            kind = "e" if value.startswith("#") else "inlineStr"
            text = escape(value)
            self._put(sheet, ref, f' t="{kind}"', f"<v>{text}</v>" if kind == "e" else f"<is><t>{text}</t></is>")
        else:
            self._put(sheet, ref, "", "" if value is None else f"<v>{value}</v>")

    def edit(self, part: str, old: str, new: str) -> None:
        """Replace a piece of a part's XML, once."""
        xml = self.package.parts[part].decode()
        assert old in xml
        self.package.replace(part, xml.replace(old, new, 1).encode())

    def change(self, part: str, pattern: str, new: str) -> None:
        """Replace what a regular expression finds first in a part."""
        xml = self.package.parts[part].decode()
        changed = re.sub(pattern, new, xml, count=1, flags=re.DOTALL)
        assert changed != xml, pattern
        self.package.replace(part, changed.encode())

    def part(self, sheet: str) -> str:
        """The part that holds a sheet."""
        return self.package.sheets()[sheet]

    def _put(self, sheet: str, ref: str, kind: str, content: str) -> None:
        part = self.part(sheet)
        cell = re.compile(rf'<c r="{ref}"( s="\d+")?[^>]*?(?:/>|>.*?</c>)')
        xml = self.package.parts[part]
        if not cell.search(xml.decode()):
            xml = with_values(SheetXml(xml), {ref: 0})
        new = cell.sub(lambda match: f'<c r="{ref}"{match[1] or ""}{kind}>{content}</c>', xml.decode(), count=1)
        self.package.replace(part, new.encode())

    def found(self) -> list[Fault]:
        """What check says of the workbook as it is."""
        return list(check(self.package).found)

    def recalculated(self) -> list[Fault]:
        """What check says when a program has recalculated the workbook."""
        recalculate_once(self.package)
        return self.found()


def three_scenarios(template: str) -> bytes:
    """A small workbook of one template: three scenarios, short databases, one sweep, and a few cases."""
    plan = plan_of(MODELS[:1], CHIPS, [template], None, ["n_chips=16"], few_rows(MODELS, CHIPS))
    third = replace(plan.scenarios[0], id="mixtral", model=MODELS[1], values={"n_chips": 16.0})
    return build_small(replace(plan, scenarios=[*plan.scenarios, third]))


@cache
def serving() -> bytes:
    """That of serving, built once for all tests of a process: with Operations, Roofline, sweeps and charts."""
    return three_scenarios("inference")


def rows_of(workbook: bytes) -> dict[str, dict[str, int]]:
    """The row of each machine name on each sheet of line items."""
    tables = Book(Package.from_bytes(workbook, "plan.xlsx")).tables
    return {table.sheet.name: {name: line.row for name, line in table.by_name.items()} for table in tables}


@pytest.fixture(name="built", scope="session")
def fixture_built() -> bytes:
    """The workbook of serving."""
    return serving()


@pytest.fixture(name="rows", scope="session")
def fixture_rows(built: bytes) -> dict[str, dict[str, int]]:
    """The row of each machine name on each sheet of line items."""
    return rows_of(built)


@pytest.fixture(name="plan")
def fixture_plan(built: bytes, rows: dict[str, dict[str, int]]) -> Seeded:
    """A built workbook of one's own to break."""
    return Seeded(Package.from_bytes(built, "plan.xlsx"), rows)
