"""What is kept on disk: archives, checkpoints of runs, records of what they gave."""
