"""Integrations with other libraries, one module per library, imported only on use.

- `heros.integrations.river`: `HerosClassifier` and `HerosRegressor` for River (extra ``river``)
- `heros.integrations.sklearn`: `HerosClassifier` and `HerosRegressor` for scikit-learn (extra ``sklearn``)
- `heros.integrations.capymoa`: `HEROS` for CapyMOA, and its streams (extra ``capymoa``)
"""
