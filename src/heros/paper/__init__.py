"""The paper, reproduced: its grid, its tables, its figures and its theorems."""
