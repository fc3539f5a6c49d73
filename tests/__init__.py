"""The tests mirror the modules; cases and golden are data."""

import os
import sys

# Bytecode is kept, also where the environment says not to: to compile planner and to rewrite every assertion again in
# each worker and in each planner that a test starts takes 8 s of each collection and some tenths of each process.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
