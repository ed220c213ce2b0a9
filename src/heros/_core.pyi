"""The compiled core of HEROS. Private: use the classes of the heros package."""
