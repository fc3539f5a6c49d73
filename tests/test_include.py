"""Include is composition: which rows are shared, which get a prefix, and what each fault says."""

from __future__ import annotations

import pytest

from planner.formulas import library
from planner.formulas.template import read_rows

LINK = [
    "sent_bytes byte input", "ways 1 input 4", "kind text input bf16",
    "link_bandwidth byte/s hardware link_bandwidth", "element_bytes byte dtype kind", "overhead 1 constant 3",
    "time s output overhead*sent_bytes/link_bandwidth", "check_ways 1 check IF(ways>0,1,0)",
]  # fmt: skip


def laid_out(template):
    """(name, kind, formula) of each row."""
    return [(row.name, row.kind, row.formula) for row in template.rows]


def test_a_prefix_is_put_before_what_is_the_includes_own(load):
    """A bound input is a calc row, an unbound one an input with the prefix, an output a calc, a check a check."""
    template = load("held byte input", "fsdp . include link(sent_bytes=held*1)", link=LINK)
    assert laid_out(template) == [
        ("held", "input", ""),
        ("fsdp_sent_bytes", "calc", "held*1"),
        ("fsdp_ways", "input", "4"),
        ("fsdp_kind", "input", "bf16"),
        ("link_bandwidth", "hardware", "link_bandwidth"),
        ("fsdp_element_bytes", "dtype", "fsdp_kind"),
        ("overhead", "constant", "3"),
        ("fsdp_time", "calc", "overhead*fsdp_sent_bytes/link_bandwidth"),
        ("fsdp_check_ways", "check", "IF(fsdp_ways>0,1,0)"),
    ]


def test_a_dot_is_no_prefix(load):
    """An include named `.` lays its rows out under their own names."""
    template = load("held byte input", ". . include link(sent_bytes=held)", link=LINK)
    assert [row.name for row in template.rows][1:] == [row.split()[0] for row in LINK]


def test_what_exists_above_is_shared(load):
    """An unbound input, lookup or constant whose name exists above is that one, prefix or none."""
    above = ["sent_bytes byte input 7", "ways 1 input 8", "overhead 1 constant 3.0"]
    template = load(*above, "pod . include link()", "dcn . include link()", link=LINK)
    names = [row.name for row in template.rows]
    assert "pod_sent_bytes" not in names
    assert "dcn_ways" not in names
    assert names.count("overhead") == 1
    assert template.row("pod_time").formula == "overhead*sent_bytes/link_bandwidth"
    assert template.row("dcn_check_ways").formula == "IF(ways>0,1,0)"


def test_lookups_and_constants_are_laid_out_once(load):
    """Two includes share the lookups and constants that neither found above."""
    template = load("pod . include link()", "dcn . include link()", link=LINK)
    names = [row.name for row in template.rows]
    assert (names.count("link_bandwidth"), names.count("overhead")) == (1, 1)
    assert {"pod_sent_bytes", "dcn_sent_bytes", "pod_time", "dcn_time"} < set(names)


@pytest.mark.parametrize(
    "includes",
    [
        ['pod . include link(kind="fp32")', "dcn . include link()"],
        ["dcn . include link()", 'pod . include link(kind="fp32")'],
    ],
)
def test_a_lookup_follows_the_row_that_selects_it(load, includes):
    """Bytes per element are shared where their dtype is, and an include's own where that is its own."""
    template = load("kind text input int8", *includes, link=LINK)
    assert template.row("element_bytes").formula == "kind"
    assert template.row("pod_element_bytes").formula == "pod_kind"
    assert "dcn_element_bytes" not in template.by_name


def test_a_row_may_be_bound_to_itself(load):
    """Without a prefix, `ways=ways` is the row above."""
    template = load("ways 1 input 8", ". . include link(ways=ways)", link=LINK)
    assert laid_out(template)[0] == ("ways", "input", "8")
    assert [row.name for row in template.rows].count("ways") == 1


@pytest.mark.parametrize(
    ("binding", "formula"),
    [
        ('kind="all_gather"', '"all_gather"'), ('kind="a,b(c=d)"', '"a,b(c=d)"'), (" ways = one ", "one"),
        ("ways=MAX(1,MIN(one,0))", "MAX(1,MIN(one,0))"), ("ways=IF(one=1,one,0)", "IF(one=1,one,0)"),
    ],
)  # fmt: skip
def test_what_may_be_bound(load, binding, formula):
    """An argument is any expression, its commas, brackets and equals signs in their places, or one quoted text."""
    template = load("one 1 input 1", f"pod . include link({binding})", link=LINK)
    assert template.row("pod_" + binding.split("=")[0].strip()).formula == formula


def test_includes_nest(load):
    """An include's own includes come along, prefix before prefix."""
    ring = ["held byte input", "hop . include link(sent_bytes=held)", "ring_time s output hop_time"]
    mine = ["full byte input", "fsdp . include ring(held=full)", "both s calc fsdp_ring_time+fsdp_hop_time"]
    template = load(*mine, link=LINK, ring=ring)
    assert template.row("fsdp_hop_sent_bytes").formula == "fsdp_held"
    assert template.row("fsdp_hop_time").formula == "overhead*fsdp_hop_sent_bytes/link_bandwidth"
    assert template.row("fsdp_ring_time").formula == "fsdp_hop_time"


def test_labels_tell_instances_apart(load):
    """A prefixed row's label begins with the include's."""
    template = load("pod . include link()", "dcn . include link()", link=LINK)
    assert template.row("pod_time").label == "pod: time"
    labels = [row.label for row in template.rows]
    assert len(labels) == len(set(labels))


def test_each_file_is_in_the_digests(load):
    """A template knows the digest of every file that it was laid out from."""
    ring = ["hop . include link()"]
    assert set(load("fsdp . include ring()", link=LINK, ring=ring).digests) == {"mine", "ring", "link"}


def test_a_file_is_read_once(write, monkeypatch):
    """A person's file is read once however many include it, and anew by the next load; a shipped one never again."""
    read: list[str] = []
    monkeypatch.setattr(library, "read_rows", lambda path: read.append(path.stem) or read_rows(path))
    write(*LINK, name="link")
    write("sent_bytes byte input", "one . include link(sent_bytes=sent_bytes)", name="chain")
    held = "held byte input", "near . include link(sent_bytes=held)", "far . include chain(sent_bytes=held)"
    path = write(*held)
    first = library.load(path)
    assert sorted(read) == ["chain", "link", "mine"]
    write(*LINK[:-1], name="link")
    gone = {row.name for row in first.rows} - {row.name for row in library.load(path).rows}
    assert gone == {"near_check_ways", "far_one_check_ways"}
    assert library.load("training") is library.load("training")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("pod . include trafic()", "mine.csv, line 3: pod: no template 'trafic'; did you mean traffic?"),
        ("pod . include link", "mine.csv, line 3: pod: 'link' is no include; write template(input=expression, ...)"),
        ("pod . include link()+1",
         "mine.csv, line 3: pod: 'link()+1' is no include; write template(input=expression, ...)"),
        ("pod . include link(way=one)", "mine.csv, line 3: pod: link has no input way; did you mean ways?"),
        ("pod . include link(time=one)",
         "mine.csv, line 3: pod: link has no input time; known: kind, sent_bytes, ways"),
        ("pod . include link(ways)",
         "mine.csv, line 3, column formula, character 6: pod: 'ways' binds no input; write input=expression"),
        ("pod . include link(ways=one,ways=one)",
         "mine.csv, line 3, column formula, character 15: pod: ways is bound twice; keep one of the two"),
        ("pod . include link(ways=)", "mine.csv, line 3, column formula, character 11: pod: the formula is empty"),
        ("pod . include link(ways=one+oen)",
         "mine.csv, line 3, column formula, character 15: pod: unknown name oen; did you mean one?"),
        ("pod . include link(ways=one*(1)",
         "mine.csv, line 3, column formula, character 17: pod: ')' is wanted, found the end"),
        ("pod . include link(ways=one>1)",
         "mine.csv, line 3, column formula, character 11: pod: a comparison is no value; write IF(..., 1, 0)"),
        ("pod . include link(ways=4)", "mine.csv, line 3: pod: the number 4 in a formula; make it a constant row"),
        ("pod . include link(sent_bytes=one)", "mine.csv, line 3: pod: sent_bytes of link is byte, but one is 1"),
        ('pod . include link(ways="two")', 'mine.csv, line 3: pod: ways of link is 1, but "two" is text'),
        ("pod . include link(kind=one)", "mine.csv, line 3: pod: kind of link is text, but one is 1"),
        ("2pod . include link()", "mine.csv, line 3: 2pod: '2pod' is no machine name; "
                                 "names match [a-z][a-z0-9_]*, three letters or more"),
    ],
)  # fmt: skip
def test_a_fault_is_named(fault, row, message):
    """Each fault stands at the include's row and names what is wrong and the nearest that is right."""
    assert fault("one 1 input", row, link=LINK) == message


def test_a_neighbour_may_be_the_nearest(fault):
    """A misspelt template is sought among the files beside the including one too."""
    assert fault("pod . include lnik()", link=LINK) == "mine.csv, line 2: pod: no template 'lnik'; did you mean link?"


def test_a_collision_is_named(fault):
    """A row that exists above may not be laid out again."""
    rows = ["pod_time s input 4", "pod . include link()"]
    assert fault(*rows, link=LINK) == (
        "mine.csv, line 3: pod: pod_time exists already, from mine.csv, line 2; give the include another prefix"
    )
    assert fault("pod . include link()", "pod . include link()", link=LINK) == (
        "mine.csv, line 3: pod: the name stands in line 2 already; names are unique"
    )


def test_a_shared_row_must_agree(fault):
    """What is shared has one unit and, where it is a constant, one number."""
    assert fault("ways chip input", "pod . include link()", link=LINK) == (
        "mine.csv, line 3: pod: ways is chip above and 1 in link"
    )
    assert fault("overhead 1 constant 4", "pod . include link()", link=LINK) == (
        "mine.csv, line 3: pod: overhead is 4 above and 3 in link"
    )


def test_a_circle_is_named(fault):
    """Templates that include each other are named in their order, at the include that closes the circle."""
    assert fault("pod . include mine()") == (
        "mine.csv, line 2: pod: templates include each other in a circle: mine -> mine"
    )
    assert fault("pod . include ring()", ring=["hop . include mine()"]) == (
        "ring.csv, line 2: hop: templates include each other in a circle: mine -> ring -> mine"
    )


def test_a_fault_of_the_included_file_is_there(fault):
    """A fault in an included file is named in that file."""
    assert fault("pod . include link()", link=["ways 1 calc wyas"]) == (
        "link.csv, line 2, column formula, character 1: ways: unknown name wyas"
    )
