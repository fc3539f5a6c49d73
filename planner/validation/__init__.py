"""Expected times compared with published runs: the runs, their expected times, the fit to them, its error."""
