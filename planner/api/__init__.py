"""The Python API: the functions that `import planner` offers, which the commands of the same names call too."""
