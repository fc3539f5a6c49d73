"""Expected times against published runs: the runs, what is expected of them, the fit to them, its error."""
