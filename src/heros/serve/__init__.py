"""HEROS as an HTTP service that predicts while its model is trained, with a status page."""
