"""HEROS as an HTTP service: predict while the model is trained, with a status page."""
