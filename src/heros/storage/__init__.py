"""Files on disk: archives, checkpoints, models stored by key, and output tables."""
