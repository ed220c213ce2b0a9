"""What pytest needs to know about this folder."""

from hypothesis import settings

collect_ignore = [  # scripts; some need torch or MOA
    "kill_resume.py",
    "make_format_golden.py",
    "make_golden.py",
    "make_moa_golden.py",
]
settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")
