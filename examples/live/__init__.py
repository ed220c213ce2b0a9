"""A live demo of `heros serve`: `make live`."""
