"""The templates: one CSV per subject. Data, read by planner.formulas.template."""
