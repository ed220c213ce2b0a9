"""HEROS as a service: answers over HTTP from a model that learns meanwhile, and a page to watch it by."""
