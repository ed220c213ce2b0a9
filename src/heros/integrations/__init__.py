"""HEROS as a learner of other libraries: one module each, imported only when it is asked for.

- `heros.integrations.river`: `HerosClassifier` and `HerosRegressor` for River (extra ``river``)
- `heros.integrations.sklearn`: `HerosClassifier` and `HerosRegressor` for scikit-learn (extra ``sklearn``)
- `heros.integrations.capymoa`: `HEROS` for CapyMOA, and its streams (extra ``capymoa``)
"""
