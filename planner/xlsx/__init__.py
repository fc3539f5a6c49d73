"""The .xlsx as a zip of parts: cells changed in their XML, every other byte left alone."""
