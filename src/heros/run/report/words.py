"""Policies, answers and pools described in words, and explanations of symbols."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable
from html import escape
from typing import Any

from heros._base.registry import name_of, parts
from heros._base.tables import FAMILIES

POLICIES: dict[str, Callable[..., str]] = {
    "Budget": lambda share=0: f"best models for {100 * share:g} % of the cost",
    "Cand": lambda: "best half and random half",
    "CandAsPublished": lambda: "worst half and random half",
    "Cheapest": lambda: "cheapest models",
    "Everything": lambda: "every model",
    "Expensive": lambda: "most expensive models",
    "Explore": lambda inner, share: f"{inner}, {100 * share:g} % random steps",
    "MLCB": lambda *_: "best by confidence bounds",
    "PerformBest": lambda: "best models",
    "PerformWorst": lambda: "worst models",
    "Random": lambda: "random models",
    "Reward": lambda weight=1: f"best score and low cost, weight {weight:g}",
    "Surprise": lambda inner, *_: f"{inner}, mostly on surprising instances",
    "Zeta": lambda zeta=0.05: f"cheapest within {100 * zeta:g} % of the best",
}
ANSWERS: dict[str, Callable[..., str]] = {
    "average": lambda: "the mean of all models",
    "best": lambda: "the best model",
    "weighted": lambda: "the mean of all models, weighted by score",
    "Stack": lambda *_: "all models, with learnt weights",
    "Top": lambda n=5, *_: f"the best {n:g} models",
}
SYMBOLS = {
    "AUROC": "area under the ROC curve: quality of the ranking of classes; 0.5 is chance, 1 is perfect",
    "κ": "Cohen's κ: accuracy compared with chance agreement; 0 is chance, 1 is perfect",
    "log-loss": "mean of −ln(probability given to the true class); lower is better",
    "L": "running score: recent accuracy of a model (in regression: nearness to the target), between 0 and 1",
    "γ": "cost of one training step of a model, as a share of training all models",
    "Σγ share": "cost of all training steps, as a share of training every model on every instance",
    "R²": "share of the target's variance that is explained; 1 is perfect, 0 is no better than the mean",
    "MAE": "mean absolute error",
    "RMSE": "root of the mean squared error",
    "CO2e g": "grams of CO2 equivalent: energy × the stated carbon intensity",
}
"""The meaning of each symbol and abbreviation in a report."""


def policy_words(written: str) -> str:
    """Describe in words which models a policy trains; an unknown policy is returned unchanged.

    Examples
    --------
    >>> policy_words("Explore(Zeta(0.05), 0.2)")
    'cheapest within 5 % of the best, 20 % random steps'
    >>> policy_words("Surprise(Cand(), 0.98, 0.1, 0.25, 0.3, 25000)")
    'best half and random half, mostly on surprising instances'
    >>> policy_words("Fair(0.5)")
    'Fair(0.5)'
    """
    return _words(written, POLICIES)


def answer_words(written: str) -> str:
    """Describe in words which models make the prediction.

    Examples
    --------
    >>> answer_words("Stack(5, 60, 0.02, 0.99)"), answer_words("best")
    ('all models, with learnt weights', 'the best model')
    """
    return _words(written if "(" in written else f"{written}()", ANSWERS)


def watch_words(watch: str | int) -> str:
    """Describe in words which models are evaluated.

    Examples
    --------
    >>> watch_words("all"), watch_words(8)
    ('all models', 'models that are trained or predict; every other model on each 8th instance')
    """
    if watch == "all":
        return "all models"
    idle = "" if watch == "trained" else f"; every other model on each {watch}th instance"
    return f"models that are trained or predict{idle}"


def _words(written: str, texts: dict[str, Callable[..., str]]) -> str:
    try:
        return str(_evaluated(ast.parse(written, mode="eval").body, texts))
    except (SyntaxError, ValueError, TypeError, KeyError, RecursionError, MemoryError):
        return written.removesuffix("()")


def _evaluated(node: ast.AST, texts: dict[str, Callable[..., str]]) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        named = {str(one.arg): _evaluated(one.value, texts) for one in node.keywords}
        return texts[node.func.id](*(_evaluated(one, texts) for one in node.args), **named)
    return ast.literal_eval(node)


def pool_words(pool: str) -> str:
    """Describe the models of a pool in words, given the id of the pool.

    Examples
    --------
    >>> pool_words("mlp3+mlp2+neighbours3+forest1")
    '5 perceptrons, 3 nearest neighbours, 1 forest'
    """
    names = {name_of(kind): FAMILIES[name] for name, kind in parts("pool").items() if name in FAMILIES}
    found: Counter[str] = Counter()
    for part in pool.split("+"):
        match = re.fullmatch(r"(\D.*?)(\d+)", part)
        if match is None:
            return pool
        found[names.get(match[1], match[1])] += int(match[2])
    unchanged = ("s", "memory")  # names with these endings have no other plural
    plural = {name: name if n == 1 or name.endswith(unchanged) else f"{name}s" for name, n in found.items()}
    return ", ".join(f"{n} {plural[name]}" for name, n in found.items())


def explained(text: str) -> str:
    """Return a heading as HTML; a known symbol shows its meaning on hover.

    Examples
    --------
    >>> explained("γ")
    '<abbr title="cost of one training step of a model, as a share of training all models">γ</abbr>'
    >>> explained("CPU s")
    'CPU s'
    """
    meaning = SYMBOLS.get(text)
    return escape(text) if meaning is None else f'<abbr title="{escape(meaning)}">{escape(text)}</abbr>'
