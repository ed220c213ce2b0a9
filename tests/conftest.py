"""What pytest needs to know about this folder."""

collect_ignore = [
    "make_golden.py",
    "make_moa_golden.py",
    "kill_resume.py",
]  # scripts; two need torch, and MOA
