"""`planner find`: rows, templates, models and chips by words; and a name of one template that is asked of another."""

from __future__ import annotations

import pytest

from planner.formulas import library
from planner.formulas.finding import everything, found
from planner.formulas.synonyms import about, aliases, row_called
from planner.formulas.template import instead_of
from tests import commands
from tests.commands import command

SOME = 5  # of each kind that are asked for


def run(*words: str) -> list[str]:
    """The lines that `planner find` prints."""
    return command("find", *words).splitlines()


@pytest.mark.parametrize(
    ("words", "kind", "names"),
    [
        ("alpha", "row", {"inner_intensity", "outer_intensity", "node_intensity"}),
        ("beta", "row", {"hbm_to_link"}),
        ("ridge", "row", {"ridge_intensity", "hbm_ridge_intensity"}),
        ("critical batch", "row", {"critical_batch", "critical_tokens"}),
        ("TTFT", "row", {"time_to_first_token_expected"}),
        ("prefix caching", "row", {"prefix_hit_rate"}),
        ("KV cache quantization", "row", {"kv_dtype"}),
        ("end-to-end latency", "row", {"request_time_expected"}),
        ("SLO", "row", {"time_to_first_token_full_expected", "time_per_output_token_expected"}),
        ("kv_time", "row", {"kv_time"}),
        ("FLOP/byte", "row", {"arithmetic_intensity"}),
        ("time read cache", "row", {"kv_time"}),
        ("h100 sxm", "chip", {"h100-sxm"}),
        ("llama 3.1 70b", "model", {"llama3.1-70b"}),
        ("inference", "template", {"inference"}),
        ("served on some chips", "template", {"inference"}),
    ],
)
def test_words_find_names(words: str, kind: str, names: set[str]) -> None:
    """What is meant stands first of its kind: by name, label, unit, or as people call it."""
    likest = found(words)[kind][: len(names)]
    assert {each.name for each in likest} == names


def test_the_kind_of_the_likest_stands_first() -> None:
    """A chip's name leads to the chip, not to the rows whose notes mention it."""
    assert next(iter(found("h100-sxm"))) == "chip"
    assert next(iter(found("kv_time"))) == "row"
    assert next(iter(found("matmul"))) == "template"


@pytest.mark.parametrize("n_asked", [SOME, pytest.param(20 * SOME, marks=pytest.mark.slow)])
def test_everything_is_found_by_its_name(n_asked: int) -> None:
    """Each row of each template, each template, model and chip is there once, and its name leads to it first."""
    things = everything()
    assert len({(each.kind, each.name) for each in things}) == len(things)
    rows = {row.name for template in library.shelf() for row in template.rows}
    assert {each.name for each in things if each.kind == "row"} == rows
    for kind in ("row", "template", "model", "chip"):
        those = [each for each in things if each.kind == kind]
        for each in those[:: -(-len(those) // n_asked)]:
            assert found(each.name)[kind][0].name == each.name


def test_a_screen_says_how_many_more_there_are() -> None:
    """However much is found, it is at most 40 lines; --all has the others."""
    said, whole = run("time"), run("time", "--all")
    assert len(said) <= 40 < len(whole)
    left_out = [int(line.split()[2].replace(",", "")) for line in said if line.startswith("... and")]
    assert len(whole) == len(said) - len(left_out) + sum(left_out)


def test_what_is_not_there_is_one_line() -> None:
    """With what is nearest, or what to try."""
    for words, says in ((["crtical", "batch"], "did you mean critical batch"), (["zzzz"], "try fewer words")):
        assert says in commands.refused("find", *words)


def test_aliases_are_of_rows() -> None:
    """Each alias stands in lower case, and each name that it means is a row of some template."""
    rows = {row.name for template in library.shelf() for row in template.rows}
    for alias, names in aliases().items():
        assert alias == alias.lower()
        assert {*names} <= rows, alias
        assert len({*names}) == len(names)


def test_every_template_has_its_sentence() -> None:
    """`templates list` says what each shipped template calculates; the file has no other."""
    lines = {line.split()[0]: line for line in command("templates", "list").splitlines()[1:]}
    assert tuple(lines) == library.names()
    for name, line in lines.items():
        assert len(about(name)) > 20
        assert line.endswith(about(name))
        assert about(name)[0].isupper()


@pytest.mark.parametrize(
    ("template", "name", "says"),
    [
        ("matmul", "kv_time", "inference has it"),
        ("matmul", "hbm_ridge_intensity", "here it is ridge_intensity"),
        ("chip", "ridge_intensity", "here it is hbm_ridge_intensity"),
        ("inference", "alpha", "here it is inner_intensity or outer_intensity or node_intensity"),
        ("training", "n_gpus", "here it is n_chips"),
        ("inference", "max_model_len", "here it is context_len"),
        ("training", "gradient_checkpointing", "here it is remat"),
        ("training", "ttft", "inference has it as time_to_first_token_expected"),
        ("training", "zzzqq", "planner find zzzqq looks in all templates"),
        ("lora", "n_chips", "inference, training have it"),
        ("inference", "cost", "here it is cost_per_million_tokens_expected"),
        ("training", "cost", "here it is train_cost_expected"),
        ("inference", "memory", "here it is memory_bytes_per_chip"),
        ("inference", "critical-batch", "did you mean critical_batch"),
        ("training", "decode_step_tim", "did you mean decode_step_time, which inference has?"),
        ("matmul", "tokns", "did you mean tokens?"),
        ("inference", "kv_cache_bytes", "here it is kv_bytes_total or kv_bytes_per_sequence"),
        ("transformer", "kv_cache_size", "here it is kv_bytes_per_sequence"),
    ],
)
def test_a_name_is_looked_for_beyond_one_template(template: str, name: str, says: str) -> None:
    """As it is called here, the templates that have it, or the nearest of all."""
    assert instead_of(name, library.load(template).by_name, library.shelf()).startswith(says)


@pytest.mark.parametrize(
    ("word", "template", "name"),
    [
        ("tps", "inference", "output_tokens_per_second_expected"), ("TPS", "training", "tokens_per_second_expected"),
        ("tbt", "inference", "time_per_output_token_expected"), ("step_time", "training", "step_time_expected"),
        ("mfu", "training", "mfu"), ("alpha", "inference", "alpha"), ("nothing", "inference", "nothing"),
    ],
)  # fmt: skip
def test_a_word_of_the_field_is_the_one_row_that_it_means(word: str, template: str, name: str) -> None:
    """Whatever its letters' case; a row of that name comes first; what means several rows, or none, is as it was."""
    assert row_called(word, library.load(template).by_name) == name


def test_a_row_with_two_aliases_is_named_once() -> None:
    """What is called so with and without an underscore is one row."""
    assert instead_of("replicas", library.load("fleet").by_name, library.shelf()) == "here it is n_replicas"


@pytest.mark.parametrize("name", ["Llama-3.3-70B-Instruct", "llama_3.3", "llama3.3-70b"])
def test_a_model_is_found_as_it_is_called_elsewhere(name: str) -> None:
    """With hyphens or underscores between the words of its name."""
    assert any("llama3.3-70b" in line for line in run(name))
