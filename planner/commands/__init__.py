"""One command, one file: parse the options, call, print. No arithmetic."""
