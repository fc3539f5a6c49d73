"""The formula core: a line of text that a cell computes, an array function sweeps and a unit checker proves."""
