"""The contract of all parts: they are discovered, described, recreated, named and written as text."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, dataclass, fields
from importlib import import_module

import numpy as np
import pytest

import heros
from heros import DataError, HerosError, ParameterError, policies, pools, scores
from heros._base.registry import (
    described,
    name_of,
    notation_of,
    own_part,
    parts,
    policy_id,
    policy_of,
    pool_id,
    pool_of,
    rebuilt,
    written_parts,
)
from heros._base.registry import part as part_module
from heros._base.registry.part import HOMES

ROLES = {role: import_module(home) for role, home in HOMES.items()}
STORED = [
    pytest.param(role, kind, id=kind.__name__)
    for role in ROLES
    for kind in parts(role).values()
    if kind.plain
]


def example(kind):
    """Return a part of this class with its defaults, or with ½, a policy or pools for required parameters."""
    if kind is pools.Join:
        return pools.Join(pools.MLP([{}]), pools.Hoeffding([{}, {}]), costs=[2, 1])
    if kind.role == "pool":
        return kind() if kind.grid else kind([{}, {}])
    needed = [field.name for field in fields(kind) if field.default is MISSING]
    return kind(**{name: policies.Zeta(0.25) if name == "policy" else 0.5 for name in needed})


def test_the_bases_of_all_roles_are_known():
    known = {kind.role for kind in heros._base.registry.Part.__subclasses__()}
    assert set(ROLES) == known
    for role in known:
        assert parts(role), f"no part has the role {role}"


@pytest.mark.parametrize("role", ROLES)
def test_every_part_is_exported_by_its_package(role):
    inside = {"Own"} if role == "measure" else set()  # the wrapper of user-defined measures
    assert set(parts(role)) - inside <= set(ROLES[role].__all__)
    assert all(hasattr(ROLES[role], name) for name in set(parts(role)) - inside)


def test_only_what_needs_the_machine_or_holds_objects_is_not_stored():
    never = {role for role in ROLES if not any(kind.plain for kind in parts(role).values())}
    assert never == {"measure", "meter"}
    others = [kind for role in set(ROLES) - never for kind in parts(role).values()]
    assert {kind.__name__ for kind in others if not kind.plain} == {"Models"}


@pytest.mark.parametrize(("role", "kind"), STORED)
def test_a_part_is_described_and_made_anew(role, kind):
    part = example(kind)
    plain = described(part)
    assert plain["kind"] == kind.__name__
    again = rebuilt(json.loads(json.dumps(plain)), role)
    assert again == part
    assert type(again) is kind
    assert described(again) == plain


@pytest.mark.parametrize(("role", "kind"), STORED)
def test_a_part_of_another_role_or_of_the_users_own_is_not_made(role, kind):
    plain = described(example(kind))
    other = "score" if role != "score" else "policy"
    with pytest.raises(DataError, match=f"^The description of the {other} must name a class of HEROS. Got "):
        rebuilt(plain, other)
    own = type(kind.__name__, (kind,), {"__module__": __name__})  # as if the user had used our name
    assert described(own.__new__(own)) == {"own": f"{__name__}.{kind.__name__}"}


@pytest.mark.parametrize("name", ["Models", *parts("meter")])
def test_what_is_not_plain_is_never_made_from_a_file(name):
    for role in ROLES:
        for plain in ({"kind": name}, {"kind": "Explore", "policy": {"kind": name}, "epsilon": 0.1}):
            with pytest.raises(DataError):
                rebuilt(plain, role)


def test_names_are_distinct():
    every = [kind for role in ROLES for kind in parts(role).values()]
    assert len({kind.__name__ for kind in every}) == len(every)
    some = [example(kind) for kind in parts("policy").values()]
    assert len({policy_id(policy) for policy in some}) == len(some)
    families = [kind for kind in parts("pool").values() if not kind.grid]
    assert len({name_of(kind) for kind in families}) == len(families)


def test_the_ids_of_records_are_what_they_were():
    """Records are found by these names, which must never change."""
    wanted = {
        "Budget": "budget_0.5", "Cand": "cand", "CandAsPublished": "cand_as_published", "Cheapest": "cheapest",
        "Everything": "everything", "Expensive": "expensive", "Explore": "zeta_0.25_0.5",
        "PerformBest": "perform_best", "PerformWorst": "perform_worst", "Random": "random", "Reward": "reward_1",
        "Zeta": "zeta_0.05",
    }  # fmt: skip
    assert (
        wanted.items() <= {name: policy_id(example(kind)) for name, kind in parts("policy").items()}.items()
    )
    assert [pool_id(pool) for pool in (pools.MLPGrid(), pools.HoeffdingGrid(), pools.MLP([{}]))] == [
        "mlp50",
        "trees50",
        "mlp1",
    ]


@pytest.mark.parametrize("name", written_parts("policy"))
def test_a_policy_is_what_is_written(name):
    kind = written_parts("policy")[name]
    text = re.sub(r":[A-Z]+", ":0.5", notation_of(kind))
    policy = policy_of(text)
    assert type(policy) is kind
    assert policy_id(policy) == text.replace(":", "_").replace("-", "_")
    assert policy_of(text.replace("-", "_")) == policy
    assert policy_of(f"{text}@0.25") == policies.Explore(policy, 0.25)
    assert policy_of(f"{text}+surprise") == policies.Surprise(policy)
    around = policies.Surprise(policies.Explore(policy, 0.25), 0.9, 0.2)
    assert policy_of(f"{text}@0.25+surprise:0.9:0.2") == around
    assert policy_of(text, 0.25) == (policies.Explore(policy, 0.25) if kind.explorable else policy)


def test_every_policy_can_be_written_but_those_around_others():
    written = {kind.__name__ for kind in written_parts("policy").values()}
    assert set(parts("policy")) - written == {"Explore", "Surprise"}


@pytest.mark.parametrize("name", written_parts("pool"))
def test_a_pool_is_what_is_written(name, tmp_path):
    pool = pool_of(name)
    assert pool_id(pool) == f"{name}{pool.n_models}"
    path = tmp_path / "pool.toml"
    path.write_text(f'kind = "{name}"\n[grid]\n')
    assert pool_of(str(path)) == pool
    path.write_text(f'kind = "{name}"\n[[models]]\n[[models]]\n')
    assert pool_of(str(path)).n_models == 2


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("zeta:0.1:0.2", "written as zeta:ZETA"),
        ("zeta:0.1@", "written as zeta:ZETA@EPSILON"),
        ("zeta:0.1@0.2:0.3", "written as zeta:ZETA@EPSILON"),
        (
            "zeta:0.1@0.2+surprise:1:2:3:4:5:6",
            "written as zeta:ZETA@EPSILON\\+surprise:SURE:SHARE:INSIDE:STEADY:AFTER",
        ),
        ("cand+surprise:much", "a name with numbers, e.g. zeta:0.05@0.2"),
        ("zeta:much", "a name with numbers, e.g. zeta:0.05@0.2"),
        ("zeta:0.1@0.1@0.2", "a name with numbers, e.g. zeta:0.05@0.2"),
        ("explore:0.1", "one of budget, cand, .*, zeta"),
        ("", "one of budget, cand, .*, zeta"),
    ],
)
def test_a_policy_written_wrongly_is_said(text, rule):
    message = rf"^The 'policy' parameter of heros must be {rule}\. Got {re.escape(repr(text))} instead\.$"
    with pytest.raises(ParameterError, match=message):
        policy_of(text)


@dataclass(frozen=True)
class Fair:
    """A user-defined policy with a number and a state, without code of HEROS."""

    share: float

    def choose(self, scores, costs, k, rng):
        return np.zeros(len(scores), dtype=bool)

    def state(self):
        return {}

    def restore(self, state):
        pass


def test_a_part_of_the_users_own_is_described_by_its_name_and_never_made():
    policy = policies.Explore(Fair(0.5), 0.1)
    plain = described(policy)
    assert plain == {"kind": "Explore", "policy": {"own": f"{__name__}.Fair"}, "epsilon": 0.1}
    with pytest.raises(
        HerosError, match=rf"^The policy {__name__}.Fair is not a class of HEROS. Pass the object as policy="
    ):
        rebuilt(plain, "policy")
    assert rebuilt(plain, "policy", policy) is policy
    assert own_part(policy) is policy.policy
    assert own_part(policies.Explore(policies.Zeta(0.1), 0.1)) is None
    assert policy_id(policy) == "fair_0.5_0.1"


def test_a_class_in_a_module_that_only_looks_like_ours_is_the_users_own():
    made_up = type("Zeta", (policies.CompiledPolicy,), {"__module__": "heros.policies.zeta"})
    assert parts("policy")["Zeta"] is policies.Zeta
    assert described(made_up()) == {"own": "heros.policies.zeta.Zeta"}
    assert type("Luck", (scores.Score,), {"__module__": "heros.scores"}).__name__ not in parts("score")


@dataclass(frozen=True)
class Several(policies.CompiledPolicy):
    """Stands in for a HEROS part that holds a list of parts."""

    several: tuple[policies.Policy, ...]


def test_a_part_may_hold_a_list_of_parts(monkeypatch):
    monkeypatch.setattr(Several, "__module__", "heros.policies")
    monkeypatch.setattr(policies, "Several", Several, raising=False)
    monkeypatch.setattr(part_module, "_defined", [*part_module._defined, Several])
    part = Several((policies.Zeta(0.1), policies.Explore(policies.Cheapest(), 0.2)))
    plain = described(part)
    assert [one["kind"] for one in plain["several"]] == ["Zeta", "Explore"]
    assert rebuilt(json.loads(json.dumps(plain)), "policy").several == list(part.several)
    with_own = Several((policies.Zeta(0.1), Fair(0.5)))
    assert own_part(with_own) is with_own.several[1]
    with pytest.raises(HerosError, match="not a class of HEROS"):
        rebuilt(described(with_own), "policy")
