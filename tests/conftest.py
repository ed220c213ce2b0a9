"""What pytest needs to know about this folder."""

collect_ignore = ["make_golden.py"]  # a script that needs torch
