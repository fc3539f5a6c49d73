"""The building blocks of a family's table: for each column of a model's row a value, or a
rule that reads the config.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.errors import Place, UserError
from planner.hf.config import Config, UnsaidError

MOST_LAYERS = 10_000

ColumnValue = int | float | bool | str | None  # None leaves the cell blank
ColumnRule = Callable[["Config", "ModelRow"], ColumnValue]
ColumnRules = Mapping[str, ColumnValue | ColumnRule]


class Family(dict[str, ColumnValue | ColumnRule]):
    """The columns for models whose config has one of these model_types, separated by blanks.

    Later tables replace the columns of earlier ones, and `columns` those of the tables.
    """

    def __init__(self, types: str, *tables: ColumnRules, **columns: ColumnValue | ColumnRule) -> None:
        super().__init__()
        for table in (*tables, columns):
            self.update(table)
        self.types = types.split()


class ModelRow:
    """A model's columns, each computed on first use, so that rules may read other columns.

    `given` are columns that the user typed; they take precedence over the config.
    """

    def __init__(self, config: Config, family: Family, given: Mapping[str, ColumnValue]) -> None:
        self._config, self._family = config, family
        self._cells = dict(given)

    def __getitem__(self, column: str) -> ColumnValue:
        if column not in self._cells:
            rule = self._family[column]
            try:
                self._cells[column] = rule(self._config, self) if callable(rule) else rule
            except UnsaidError as unsaid:
                unsaid.column = unsaid.column or column
                raise
        return self._cells[column]

    def count(self, column: str) -> int:
        """A numeric column; 0 if blank."""
        value = self[column]
        return int(value) if isinstance(value, (int, float)) else 0

    def cells(self) -> dict[str, ColumnValue]:
        """Every column. Raises UserError naming each required field that the config lacks."""
        unsaid: dict[str, str] = {}
        for column in self._family:
            try:
                self[column]
            except UnsaidError as error:
                unsaid.setdefault(error.field, error.column)
        if unsaid:
            verb = "is" if len(unsaid) == 1 else "are"
            columns = " ".join(f"--set {column}=..." for column in dict.fromkeys(unsaid.values()))
            what = f"{' and '.join(unsaid)} {verb} not in the config"
            raise UserError(what, place=Place(self._config.path), remedy=f"say what it is with {columns}")
        return dict(self._cells)


def size(*names: str) -> ColumnRule:
    """A required whole number of 1 or more, under one of these names."""
    return lambda config, _: config.said(*names, least=1)


def layers(*names: str) -> ColumnRule:
    """The required number of layers, limited so that they can be listed one by one."""

    def rule(config: Config, _: ModelRow) -> ColumnValue:
        number = config.said(*names, least=1)
        if number > MOST_LAYERS:
            name = next(name for name in names if config.value(name) is not None)
            raise config.fault(name, "is out of range", f"it must be {MOST_LAYERS:,} or less")
        return number

    return rule


def maybe(*names: str, default: int | None = None) -> ColumnRule:
    """An optional whole number."""

    def rule(config: Config, _: ModelRow) -> ColumnValue:
        value = config.count(*names)
        return default if value is None else value

    return rule


def flag(*names: str, default: bool = False) -> ColumnRule:
    """An optional boolean under one of these names."""
    return lambda config, _: config.flag(*names, default=default)


def where(name: str, then: ColumnValue, otherwise: ColumnValue, default: bool = False) -> ColumnRule:
    """One of two values, depending on an optional boolean."""
    return lambda config, _: then if config.flag(name, default=default) else otherwise


def tied(default: bool, *names: str) -> ColumnRule:
    """Whether the head is tied to the embedding; the family's default if missing.

    `names` are fields that take precedence over tie_word_embeddings.
    """

    def rule(config: Config, _: ModelRow) -> ColumnValue:
        fields = (*names, "tie_word_embeddings")
        is_said = any(config.value(name) is not None for name in fields)
        return config.flag(*fields) if is_said else config.assumed("tie_word_embeddings", default)

    return rule


def apart(config: Config, _: ModelRow) -> ColumnValue:
    """An untied head, for a family whose class never ties it whatever the config says."""
    if config.flag("tie_word_embeddings"):
        config.note(f"tie_word_embeddings is not heeded: {config.model_type} has a head with a table of its own")
    return False


def head_dim(default: int | None = None) -> ColumnRule:
    """`head_dim`, else the family's default if missing, else d_model / n_heads."""

    def rule(config: Config, row: ModelRow) -> ColumnValue:
        said = config.count("head_dim", least=1)
        if said is not None:
            return said
        if default is None or config.says("head_dim"):
            return divided(config, row)
        return config.assumed("head_dim", default)

    return rule


def taken(config: Config, name: str, default: int) -> int:
    """A whole number from the config, 0 if it is null, or the family's default if missing."""
    if config.says(name):
        return config.count(name) or 0
    return config.assumed(name, default)


def divided(config: Config, row: ModelRow) -> ColumnValue:
    """The head dimension for a family without a field for it. Raises UserError if the heads don't divide d_model."""
    width, rest = divmod(row.count("d_model"), max(1, row.count("n_heads")))
    if rest:
        what = f"d_model {row['d_model']} is no multiple of n_heads {row['n_heads']}"
        remedy = "correct one of the two, or say it with --set head_dim=..."
        raise UserError(what, place=Place(config.path, column="head_dim"), remedy=remedy)
    return width


def kv_heads(config: Config, row: ModelRow) -> ColumnValue:
    """`num_key_value_heads`, by default the number of query heads."""
    said = config.count("num_key_value_heads", least=1)
    return row["n_heads"] if said is None else said


def kv_heads_said(config: Config, row: ModelRow) -> ColumnValue:
    """Like `kv_heads`, but required, for a family whose class has another default."""
    if not config.says("num_key_value_heads"):
        raise UnsaidError(f"{config.prefix}num_key_value_heads")
    return kv_heads(config, row)


def of(column: str) -> ColumnRule:
    """The value of another column."""
    return lambda _, row: row[column]


def times(factor: int, column: str, *names: str) -> ColumnRule:
    """A field, else a multiple of another column."""

    def rule(config: Config, row: ModelRow) -> ColumnValue:
        said = config.count(*names, least=1) if names else None
        return factor * row.count(column) if said is None else said

    return rule


def within(part: str, rule: ColumnRule) -> ColumnRule:
    """A rule applied to a nested config."""
    return lambda config, row: rule(config.part(part), row)
