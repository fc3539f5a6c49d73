"""Planning workbooks for large language models, with live formulas and measured numbers beside them."""

__version__ = "0.1.0"
