"""Planning workbooks for large language models, with live formulas and measured numbers beside them."""

from pathlib import Path

__version__ = "0.1.0"

# `measure`, `templates` and the two databases are top-level folders of the repository, and lie inside this
# package when it is installed from a wheel. In a checkout they are found beside it. (planner/measure is a link
# for what doesn't run this line, such as mypy and editors.)
if not Path(__path__[0], "templates").is_dir():
    __path__.append(str(Path(__path__[0]).parent))
