"""What `import planner` offers, and what the commands of the same names print: plans calculated, read and built."""
