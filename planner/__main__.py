"""`python -m planner` is `planner`."""

from planner.cli import main

main()
