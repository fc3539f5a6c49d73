"""`planner models`: the models of the database, and adding a Hugging Face config to a user's own CSV."""

from __future__ import annotations

from pathlib import Path

import click

from planner import catalog
from planner.commands.listing import group
from planner.commands.options import PATH, Greedy, repeatable

SETTING = "Set a column of the row, instead of what the config says"


command = group(
    "models",
    catalog.load_models,
    ("name", "n_layers", "d_model", "n_experts", "n_params_published"),
    "List the models, show one with its sources, or add one from a Hugging Face config.",
    "--models",
)


@command.command("add", cls=Greedy)
@click.argument("config", type=PATH)
@click.option("--to", required=True, metavar="CSV", type=PATH, help="The CSV to add to, or to create.")
@click.option(
    "--id", "identifier", metavar="NAME", default="", help="The model's id; by default from the config's name."
)
@click.option("--name", default="", help="The name that sheets show.")
@repeatable("--set", "settings", metavar="COLUMN=VALUE", help=f"{SETTING}. Repeatable.")
@click.option("--force", is_flag=True, help="Replace the row of the same id.")
def add(config: Path, to: Path, identifier: str, name: str, settings: tuple[str, ...], force: bool) -> None:
    """Add the model of a Hugging Face CONFIG (config.json) to a CSV for --models, with its exact parameter count.

    Reads Llama, Gemma, Qwen, Mistral, Mixtral, DeepSeek, Kimi, gpt-oss, Phi, GPT-2, Falcon, OLMo, GLM, Command,
    StarCoder, Granite, SmolLM, InternLM, MiniMax, ERNIE, Seed-OSS and others; of a multimodal model, the language
    model. If the config lacks a number, the error names the column: set it with --set.
    """
    from planner.formulas.input_values import parsed
    from planner.hf.store import add as add_model
    from planner.terminal_table import aligned, digits

    added = add_model(config, to, parsed(settings), identifier=identifier, name=name, force=force)
    click.echo(f"Added {added.identifier} to {to}")
    body = [[name, digits(value), unit, label] for name, value, unit, label in added.quantities]
    click.echo(aligned(["name", "value", "unit", "meaning"], body, right=["value"]))
    for note in added.notes:
        click.echo(f"Note: {note}")
