"""The rules of `planner check`, one small function each; they apply to built and edited workbooks alike."""
