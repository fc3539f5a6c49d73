"""Tables of xprof's and TensorBoard's tools of several versions: overviews, op_profile, and what is exported as CSV."""

from __future__ import annotations

import csv
import gzip
import io
import json
from dataclasses import replace

import pytest

from planner.errors import UserError
from planner.ingest.first_page import part
from planner.ingest.into_workbook import ingested
from planner.ingest.profile_text import lines
from planner.profiles import xla
from planner.profiles.profile import Profile
from planner.profiles.reading import read
from tests.commands import command
from tests.measure_traces import TRACES, real
from tests.workbooks import write_small
from tests.written_profiles import in_json


def page(columns, *rows, **properties):
    """A table as Google's charts have it."""
    cells = [{"c": [{"v": value} for value in row]} for row in rows]
    return {"cols": [{"id": name} for name in columns], "rows": cells, "p": properties}


def in_ms(found: Profile):
    """The parts of a step in ms: compute, communication, copy, gap."""
    parts = found.step_parts
    return [round(each * 1e3, 6) for each in (parts.compute, parts.communication, parts.copy, parts.gap)]


def test_overview_of_a_tpu_of_2020(tmp_path):
    """Columns have other names, and the number of cores stands in a sentence."""
    steps = page(
        ["stepnum", "computeTimeMs", "inputTimeMs", "idleTimeMs"], ["0", 300.0, 2.0, 1.0], ["1", 310.0, 2.0, 3.0]
    )
    about = page([], device_type="TPU v2", device_core_count="8 (Replica count = 8, num cores per replica = 1)")
    found = read(in_json(tmp_path, [steps, about], "10.0.0.1.overview_page.json"))
    assert (found.device, found.facts["cores"], found.hosts) == ("TPU v2", "8", ("10.0.0.1",))
    assert found.step_times == pytest.approx([0.303, 0.315])
    assert in_ms(found) == [305.0, 0.0, 2.0, 2.0]


def test_overview_of_a_gpu(tmp_path):
    """Collectives are told apart; what the host does alone is a gap of the device; the parts add up to the step."""
    columns = ["stepnum", "deviceComputeTimeMs", "deviceToDeviceTimeMs", "deviceCollectivesTimeMs", "hostComputeTimeMs",
               "kernelLaunchTimeMs", "infeedTimeMs", "outfeedTimeMs", "compileTimeMs", "otherTimeMs",
               "stepTimeMs"]  # fmt: skip
    path = tmp_path / "overview_page.json"
    path.write_text(json.dumps([page(columns, ["7", 60.0, 1.0, 9.0, 5.0, 4.0, 3.0, 0.0, 0.0, 8.0, 100.0])]))
    found = read(path)
    assert (found.step_times, found.hosts) == (pytest.approx([0.1]), ())
    assert in_ms(found) == [60.0, 10.0, 3.0, 27.0]
    assert part(found, "communication") == pytest.approx(10e-3)


def test_op_profile_by_category_alone(tmp_path):
    """An older tree has no programs; with times it is read, with shares of the time alone it is refused in one line."""
    leaf = {"name": "fusion.1", "metrics": {"time": 0.9, "rawTime": 9e9, "occurrences": 3},
            "xla": {"expression": "%fusion.1 = f32[8]{0} fusion(f32[8]{0} %p)", "category": "loop fusion"}}  # fmt: skip
    category = {"name": "loop fusion", "metrics": {"time": 0.9, "rawTime": 9e9}, "children": [leaf]}
    idle = {"name": "IDLE", "metrics": {"time": 0.1, "rawTime": 1e9}}
    path = in_json(tmp_path, {"byCategory": {"name": "byCategory", "children": [category, idle]}}, "op_profile.json")
    (device,) = read(path).devices
    (one,) = device.operations
    assert (one.name, one.category, one.count, one.self_time) == ("fusion.1", "loop fusion", 3, pytest.approx(9e-3))
    assert device.parts.gap == pytest.approx(1e-3)
    for node in (leaf, category, idle):
        del node["metrics"]["rawTime"]
    path.write_text(json.dumps({"byCategory": {"name": "byCategory", "children": [category, idle]}}))
    with pytest.raises(UserError, match="shares of the time alone"):
        read(path)


def test_what_runs_on_a_sparse_core_is_no_time_of_the_tensor_core(tmp_path):
    """A start of 2 us and a matmul of 90; the gather that the start begins takes 300 us on the SparseCore beside them.

    As hlo_stats' JSON, its CSV, and op_profile of xprof since 2025, which has the gather below its start.
    """
    columns = ["program_id", "category", "hlo_op_name", "hlo_op_expression", "occurrences", "total_self_time",
               "core_type", "parent_op_name"]  # fmt: skip
    labels = ["Program id", "HLO op category", "HLO op name", "HLO op text", "#Occurrences", "Total self time (us)",
              "TPU core type", "Parent op name"]  # fmt: skip
    rows = [
        ["7", "convolution fusion", "fusion.1", "", 1, 90.0, "TensorCore", ""],
        ["7", "async-start", "call-start", "", 1, 2.0, "TensorCore", ""],
        ["7", "all-gather", "all-gather.5", "", 1, 300.0, "SparseCore", "call-start"],
    ]
    (tmp_path / "hlo_stats.json").write_text(json.dumps([page(columns, *rows)]))
    with (tmp_path / "hlo_stats.csv").open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([labels, *rows])

    def node(name, picoseconds, *below):
        return {"name": name, "metrics": {"rawTime": picoseconds, "occurrences": 1}, "children": list(below),
                "xla": {"expression": f"%{name} = f32[8]{{0}} fusion()"}}  # fmt: skip

    start = node("call-start", 2e6, node("all-gather.5", 300e6))
    group = {"name": "fusion.1 and its duplicate(s)", "metrics": {"rawTime": 90e6}, "xla": {"expression": "%fusion.1"},
             "children": [node("fusion.1", 50e6), node("fusion.2", 40e6)]}  # fmt: skip
    category = {"name": "fusion", "metrics": {"rawTime": 92e6}, "children": [group, start]}
    program = {"name": "jit_f(7)", "metrics": {"rawTime": 92e6}, "children": [category]}
    (tmp_path / "op_profile.json").write_text(json.dumps({"byProgram": {"name": "", "children": [program]}}))
    for name, count in (("hlo_stats.json", 2), ("hlo_stats.csv", 2), ("op_profile.json", 3)):
        (device,) = read(tmp_path / name).devices
        assert len(device.operations) == count
        assert device.parts.busy == pytest.approx(92e-6)


def exported(document, by: str = "label") -> str:
    """The first page of a tool's JSON as xprof exports it: everything quoted, by the labels of its columns."""
    first = document[0] if isinstance(document, list) else document
    text = io.StringIO()
    written = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    written.writerow([column[by] for column in first["cols"]])
    for row in first["rows"]:
        written.writerow(["" if cell is None or cell.get("v") is None else str(cell["v"]) for cell in row["c"]])
    return text.getvalue()


@real
@pytest.mark.parametrize("by", ["label", "id"])
@pytest.mark.parametrize("tool", ["hlo_stats", "framework_op_stats", "roofline_model"])
def test_an_exported_table_says_what_the_tools_json_says(tmp_path, tool, by):
    """The same operations, times, rates and shapes, from CSV by labels as xprof writes it, and by the columns' ids."""
    (path,) = (TRACES / "golden").glob(f"*{tool}*")
    raw = path.read_bytes()
    document = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    (tmp_path / "table.csv").write_text(exported(document, by))
    (tmp_path / "table.json").write_text(json.dumps(document[:1] if isinstance(document, list) else document))
    from_csv, from_json = read(tmp_path / "table.csv"), read(tmp_path / "table.json")
    assert len(from_csv.operations) > 100
    assert from_csv.operations == from_json.operations
    assert replace(from_csv.devices[0], kind=None, peak_flops=None, peak_bandwidth=None, facts={}) == replace(
        from_json.devices[0], kind=None, peak_flops=None, peak_bandwidth=None, facts={}
    )


def test_the_frameworks_table_tells_no_communication(tmp_path):
    """A collective that XLA puts in is a part of the matmul's row there: N/A with the reason, but beside hlo_stats.

    Of 100 us hlo_stats has 40 that communicate, of which the framework's table files 30 under dot_general.
    """
    framework = page(
        ["host_or_device", "type", "operation", "occurrences", "total_self_time"],
        ["Device", "dot_general", "jit(f)/dot_general", 1, 90.0], ["Device", "psum", "jit(f)/psum", 1, 10.0],
    )  # fmt: skip
    hlo = page(
        ["hlo_op_name", "hlo_op_expression", "category", "occurrences", "total_self_time"],
        ["fusion.1", "", "convolution fusion", 1, 60.0], ["all-gather.1", "", "all-gather", 1, 30.0],
        ["all-reduce.1", "", "all-reduce", 1, 10.0],
    )  # fmt: skip
    paths = [tmp_path / "framework_op_stats.json", tmp_path / "hlo_stats.json"]
    for path, table in zip(paths, (framework, hlo), strict=True):
        path.write_text(json.dumps([table]))
    alone, both = read(paths[0]), read(*paths)
    assert [part(alone, name) for name in ("compute", "communication")] == [None, None]
    assert "hlo_stats tells them apart" in alone.lacks["communication"]
    assert [part(both, name) for name in ("compute", "communication")] == pytest.approx([60e-6, 40e-6])


@pytest.mark.parametrize("tool", ["framework_op_stats", "hlo_stats"])
def test_the_overview_of_a_gpu_tells_communication_beside_other_tables(tmp_path, tool):
    """Its 10 ms of collectives are told apart from 60 that compute: no operation's share of the 60 is added to them."""
    steps = page(["stepnum", "deviceComputeTimeMs", "deviceCollectivesTimeMs", "idleTimeMs"], ["7", 60.0, 10.0, 5.0])
    tables = {
        "framework_op_stats": page(
            ["host_or_device", "type", "operation", "occurrences", "total_self_time"],
            ["Device", "dot_general", "jit(f)/dot_general", 1, 50.0], ["Device", "psum", "jit(f)/psum", 1, 10.0],
        ),
        "hlo_stats": page(
            ["hlo_op_name", "hlo_op_expression", "category", "occurrences", "total_self_time"],
            ["fusion.1", "", "loop fusion", 1, 50.0], ["all-reduce.1", "", "all-reduce", 1, 10.0],
        ),
    }  # fmt: skip
    paths = [tmp_path / "overview_page.json", tmp_path / f"{tool}.json"]
    for path, table in zip(paths, (steps, tables[tool]), strict=True):
        path.write_text(json.dumps([table]))
    found = read(*paths)
    assert in_ms(found) == [60.0, 10.0, 0.0, 5.0]
    assert [part(found, name) for name in ("compute", "communication")] == pytest.approx([60e-3, 10e-3])


def test_another_table_is_no_profile(tmp_path):
    """A CSV of something else is refused in one line."""
    path = tmp_path / "measurements.csv"
    path.write_text("case_key,source,host,step\n1,2,3,4\n")
    with pytest.raises(UserError, match="this is text, and no profile"):
        read(path)


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_missing(tmp_path, written):
    """A rate of no time is NaN in a tool's JSON or CSV, and in a trace's text: the operation has none."""
    columns = ["hlo_op_name", "hlo_op_expression", "occurrences", "total_self_time", "avg_time", "model_flop_rate"]
    rows = ["fusion.1", "", 2.0, 10.0, 5.0, "RATE"], ["fusion.2", "", 2.0, 10.0, "RATE", 5.0]
    path = tmp_path / "hlo_stats.json"
    path.write_text(json.dumps(page(columns, *rows)).replace('"RATE"', written))
    one, other = read(path).operations
    assert (one.flops, other.median) == (None, 0.0)
    table = "\n".join(",".join(map(str, row)).replace("RATE", written) for row in (columns, *rows))
    (tmp_path / "hlo_stats.csv").write_text(table)
    assert read(tmp_path / "hlo_stats.csv").operations == (one, other)
    for value in (written, 10**400):
        made = xla.operation("fusion.1", "", {"model_flops": value, "bytes_accessed": value})
        assert (made.flops, made.bytes) == (None, None)
    "\n".join(lines(ingested([path], "", None, "")))


HEADS = '"HLO op category","HLO op name","HLO op text","#Occurrences",'


@pytest.mark.parametrize(
    ("head", "cell", "says"),
    [
        (
            "Total self time (ms)",
            "12.5",
            "this table of operations has no column total_self_time, their own times in us",
        ),
        ("Total self time (us)", "12.5 us", "'12.5 us' of total_self_time is no number"),
        ("Total self time (us)", "1.012,5", "'1.012,5' of total_self_time is no number"),
        ("Total self time (us)", "-12.5", "-12.5 of total_self_time is below 0"),
    ],
)
def test_a_table_whose_times_cannot_be_told_is_refused(tmp_path, head, cell, says):
    """In another unit, with one, with a comma for the point, or below 0: none counts as 0, nor as another number."""
    path = tmp_path / "hlo_stats.csv"
    path.write_text(f'{HEADS}"{head}"\n"loop fusion","fusion.1","","3","{cell}"\n')
    with pytest.raises(UserError) as error:
        read(path)
    assert error.value.line().startswith(f"{path}: {says}")
    (tmp_path / "overview_page.json").write_text(json.dumps([page(["stepnum", "tcComputeTimeMs"], ["1", 90.0])]))
    with pytest.raises(UserError, match="total_self_time"):  # nor is it left out of a folder without a word
        read(tmp_path)


def test_numbers_that_a_table_has_as_text(tmp_path):
    """With a mark of thousands, in JSON and in CSV: 1,012.5 us of three runs; a step of 1,090 ms."""
    columns = ["hlo_op_name", "hlo_op_expression", "category", "occurrences", "total_self_time"]
    (tmp_path / "hlo_stats.json").write_text(json.dumps([page(columns, ["fusion.1", "", "fusion", "3", "1,012.5"])]))
    (tmp_path / "hlo_stats.csv").write_text(f'{HEADS}"Total self time (us)"\n"fusion","fusion.1","","3","1,012.5"\n')
    for name in ("hlo_stats.json", "hlo_stats.csv"):
        (one,) = read(tmp_path / name).operations
        assert (one.count, one.self_time) == (3, pytest.approx(1012.5e-6))
    overview = tmp_path / "overview_page.json"
    overview.write_text(json.dumps([page(["stepnum", "tcComputeTimeMs"], ["1", "1,090"])]))
    assert read(overview).step_times == pytest.approx([1.09])
    overview.write_text(json.dumps([page(["stepnum", "tcComputeTimeMs", "tcIdleTimeMs"], ["1", -90.0, 5.0])]))
    with pytest.raises(UserError, match="-90 of tcComputeTimeMs is below 0"):
        read(overview)


@real
def test_a_folder_of_exported_tables_is_read(tmp_path):
    """As the files themselves are; a CSV beside them that is no tool's table is none of the profile."""
    for tool in ("hlo_stats", "framework_op_stats"):
        (path,) = (TRACES / "golden").glob(f"*{tool}*")
        raw = path.read_bytes()
        document = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
        (tmp_path / f"{tool}.csv").write_text(exported(document))
    (tmp_path / "measurements.csv").write_text("case_key,measured_time\n")
    whole, each = read(tmp_path), (tmp_path / f"{tool}.csv" for tool in ("framework_op_stats", "hlo_stats"))
    assert whole.operations == read(*each).operations
    assert len(whole.paths) == 2


def test_a_tool_that_has_a_part_of_the_collectives_tells_none(tmp_path):
    """framework_op_stats has most collectives in the rows of what needs them: a share of the others would mislead.

    Of 100 us attention takes 30 and an all-reduce of its own 10: 30 % is recognised.
    """
    columns = ["host_or_device", "type", "operation", "occurrences", "total_self_time", "total_time", "avg_time"]
    rows = [["Device", kind, f"jit(f)/{name}", 1.0, us, us, us]
            for kind, name, us in (("pallas_call", "flash_attention", 30.0), ("psum", "psum", 10.0),
                                   ("dot_general", "dot_general", 60.0))]  # fmt: skip
    path = in_json(tmp_path, [page(columns, *rows)], "framework_op_stats.json")
    found = ingested([path], "", None, "")
    assert found.cases.share == pytest.approx(0.3)
    assert found.cases.said == "attention 30.0 %, collectives can't be told apart; 0 cases of known sizes"
    said = "\n".join(lines(found))
    assert "Devices  all of them added up: the tool doesn't tell how many" in said


def test_a_roofline_adds_all_steps_up(tmp_path):
    """It has no steps, and none is made of all of it."""
    columns = ["step", "category", "operation", "occurrences", "total_self_time", "roofline_efficiency"]
    path = tmp_path / "roofline_model.json"
    path.write_text(json.dumps([page(columns, ["Total", "loop fusion", "fusion.1", 4.0, 60.0, 0.5])]))
    found = ingested([path], "", None, "")
    assert found.profile.lacks["steps"] == "the tool adds all steps up"


def test_an_overview_in_a_workbook_says_what_it_lacks(tmp_path):
    """It has steps and no operations; hlo_stats has operations and no step: neither is said of what isn't there."""
    plan = write_small(tmp_path / "plan.xlsx", ["llama3-8b"], ["tpu-v5p"], ["training"], n_chips=8)
    overview, table = tmp_path / "overview_page.json", tmp_path / "hlo_stats.json"
    overview.write_text(json.dumps([page(["stepnum", "tcComputeTimeMs"], ["1", 9000.0])]))
    columns = ["hlo_op_name", "hlo_op_expression", "category", "occurrences", "total_self_time"]
    table.write_text(json.dumps([page(columns, ["fusion.1", "", "fusion", 3.0, 12.5])]))
    said = command("ingest", overview, "--into", plan)
    assert "no operation was recognised: the overview lists only the largest: hlo_stats has all" in said
    said = command("ingest", table, "--into", plan)
    assert "the profile has no step: no run is recorded" in said
    assert "flagged" not in said
