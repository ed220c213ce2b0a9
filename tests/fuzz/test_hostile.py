"""A few hundred reproducible cases of the fuzzer, and all cases that were findings."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fuzz.documents
import fuzz.loaders
import fuzz.numbers  # noqa: F401  (so do they)
from fuzz.mutate import case
from fuzz.targets import CORPUS, TARGETS, run, seeds_of

FOUND = sorted(CORPUS.glob("*/*"))


@pytest.mark.parametrize("name", TARGETS)
def test_malformed_input_is_refused_or_right(name, thorough):
    @settings(
        max_examples=40 if thorough else 10,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 10**9))
    def holds(number):
        run(name, case(seeds_of(name), number))

    holds()


@pytest.mark.parametrize("name", ["from_arrays", "heros_arrays", "choices", "restore_trees", "csv", "arff"])
def test_any_bytes_are_refused_or_right(name):
    @settings(
        max_examples=40,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.binary(max_size=200))
    def holds(data):
        run(name, data)

    holds()


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_was_found_stays_mended(path):
    run(path.parent.name, path.read_bytes())


def test_every_case_found_belongs_to_a_target():
    assert {path.parent.name for path in FOUND} <= set(TARGETS)


def test_a_case_is_the_same_bytes_in_every_run():
    assert case(seeds_of("csv"), 7) == case(seeds_of("csv"), 7)
    assert len({case(seeds_of("csv"), number) for number in range(50)}) > 40
