"""Files on disk: archives, checkpoints, models by key, and output tables."""
