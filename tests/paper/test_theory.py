"""The theory of the paper: closed forms are compared with quadrature and with simulations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from heros import ParameterError
from heros.policies import Cand, Cheapest, PerformBest, Zeta
from heros_paper.theory import (
    Model,
    Pool,
    check_theory,
    checks_table,
    finite_threshold,
    simulate,
    write_theory,
)
from heros_paper.theory.claims import (
    CHEAPER_THAN_BEST,
    CLOSE_TO_BEST,
    ZETA_ABOVE_CAND,
    ZETA_COST,
    ZETA_PERFORMANCE,
)

SHAPES = [(1, 1), (2, 2), (5, 2), (0.5, 3), (80, 20)]
SMALL = {
    "growing": [Pool(100, 4), Pool(1000, 4), Pool(6000, 4)],
    "proportional": [Pool(50, 30), Pool(500, 300)],
}


def order_statistic(alpha, beta, models, rank):
    """Return the mean of the rank-th highest of M scores, from its density."""
    law = stats.beta(alpha, beta)
    above = stats.beta(models - rank + 1, rank)  # F(X) of an order statistic is Beta distributed
    return integrate.quad(lambda x: x * above.pdf(law.cdf(x)) * law.pdf(x), 0, 1, limit=200)[0]


def first_choice(alpha, beta, zeta, models):
    """Return the exact mean score and cost of the one model that ζ chooses, by integrating over all scores."""
    law, larger = stats.beta(alpha, beta), stats.beta(alpha + 1, beta)  # x·law is E X·larger
    x = (np.arange(400) + 0.5) / 400
    density = models * law.cdf(x) ** (models - 1) * law.pdf(x)
    low = (1 - zeta) * x
    inside = law.cdf(x) - law.cdf(low)
    mean = law.mean() * (larger.cdf(x) - larger.cdf(low)) / inside
    others = np.arange(models)
    near = stats.binom.pmf(others, models - 1, (inside / law.cdf(x))[:, None])  # other models in the window
    highest = near @ (1 / (others + 1))
    performance = highest * x + (1 - highest) * mean
    cost = near @ (1 / (others + 2))
    return performance @ density / 400, cost @ density / 400


def assert_mean(values, expected):
    assert abs(values.mean() - expected) < 4 * values.std(ddof=1) / len(values) ** 0.5


def one(checks, claim, zeta):
    [check] = (c for c in checks if c.claim is claim and c.zeta == zeta)
    return check


@pytest.fixture(scope="module")
def checks():
    return check_theory(
        models=[Model(2, 2), Model(400, 100)], zetas=[0.0, 0.08, 0.2, 0.3], budget=60_000, **SMALL
    )


class TestModel:
    @pytest.mark.parametrize(("alpha", "beta"), SHAPES)
    @pytest.mark.parametrize("score", [0.0, 0.3, 0.9])
    def test_mean_above_is_the_integral_over_the_tail(self, alpha, beta, score):
        law = stats.beta(alpha, beta)
        tail = integrate.quad(law.sf, score, 1)[0] / law.sf(score)
        assert Model(alpha, beta).mean_above(score) == pytest.approx(score + tail)

    def test_mean_above_far_in_the_tail_joins_on(self):
        model = Model(400, 100)
        assert model.survival(1 - 1e-5) == 0
        assert 1 - model.mean_above(1 - 1e-5) == pytest.approx(1e-5 * 100 / 101)
        assert 1 - model.mean_above(1 - 2e-3) == pytest.approx(2e-3 * 100 / 101, rel=0.02)

    @pytest.mark.parametrize(("models", "k"), [(1, 1), (50, 30), (50, 50), (100_000, 10), (100_000, 60_000)])
    def test_best_of_uniform_scores(self, models, k):
        assert Model(1, 1).best(models, k) == pytest.approx(1 - (k + 1) / (2 * (models + 1)))

    @pytest.mark.parametrize(("alpha", "beta"), SHAPES)
    def test_best_and_cand_from_the_order_statistics(self, alpha, beta):
        means = [order_statistic(alpha, beta, 7, rank) for rank in range(1, 8)]
        model = Model(alpha, beta)
        assert model.best(7, 3) == pytest.approx(np.mean(means[:3]))
        assert model.cand(7, 5) == pytest.approx((sum(means[:2]) + 3 * np.mean(means[2:])) / 5)
        assert model.cand(7, 1) == pytest.approx(model.mean)

    def test_finite_pools_approach_the_shares_and_the_limits(self):
        model = Model(5, 2)
        assert model.best(10**6, 6 * 10**5) == pytest.approx(model.best_share(0.6), abs=1e-5)
        assert model.cand(10**6, 6 * 10**5) == pytest.approx(model.cand_share(0.6), abs=1e-5)
        assert model.cand(10**12, 10) == pytest.approx(model.cand_limit, abs=1e-5)

    @pytest.mark.parametrize(("alpha", "beta"), SHAPES)
    def test_the_claimed_threshold_is_sufficient_and_not_necessary(self, alpha, beta):
        model = Model(alpha, beta)
        assert model.zeta_limit(model.threshold()) == pytest.approx(model.cand_limit)
        assert model.threshold() > model.claimed_threshold() == pytest.approx((1 - model.mean) / 2)

    @pytest.mark.parametrize(("alpha", "beta"), [(8, 3), (400, 100)])
    def test_the_threshold_of_a_finite_pool_is_sufficient_and_goes_to_the_claimed_one(self, alpha, beta):
        model = Model(alpha, beta)
        assert 0 < model.sufficient_threshold(50, 30) < finite_threshold(model, Pool(50, 30), draws=200)
        assert Model(2, 2).sufficient_threshold(10**12, 10) == pytest.approx(0.25, abs=1e-4)

    def test_exploring_lowers_the_threshold(self):
        model = Model(5, 2)
        zeta = model.claimed_threshold(0.2)
        assert 0.8 * (1 - zeta) + 0.2 * model.mean == pytest.approx(model.cand_limit)
        assert model.claimed_threshold(0.5) == model.claimed_threshold(1) == 0

    def test_wrong_parameters_are_named(self):
        with pytest.raises(
            ParameterError, match=r"The 'beta' parameter of Model must be a number > 0. Got 0 instead."
        ):
            Model(2, 0)
        with pytest.raises(
            ParameterError, match=r"The 'k' parameter of Model.best .* in \[1, 5\]. Got 6 instead."
        ):
            Model(2, 2).best(5, 6)


class TestSimulation:
    def test_cand_and_perform_best_have_their_exact_means(self):
        model = Model(8, 3)
        cand, best = Cand(), PerformBest()
        [seen] = simulate(model, [cand, best], [Pool(50, 30)], 1000, np.random.default_rng(1))
        assert_mean(seen.performance[cand], model.cand(50, 30))
        assert_mean(seen.performance[best], model.best(50, 30))
        assert_mean(seen.cost[cand], 0.5)
        assert_mean(seen.cost[best], 0.5)

    @pytest.mark.parametrize(("alpha", "beta", "zeta"), [(2, 2, 0.1), (8, 3, 0.2), (1, 1, 0.5)])
    def test_the_first_choice_of_zeta_has_its_exact_mean(self, alpha, beta, zeta):
        policy = Zeta(zeta)
        [seen] = simulate(Model(alpha, beta), [policy], [Pool(20, 1)], 4000, np.random.default_rng(2))
        performance, cost = first_choice(alpha, beta, zeta, 20)
        assert_mean(seen.performance[policy], performance)
        assert_mean(seen.cost[policy], cost)

    def test_zeta_lies_between_perform_best_and_cheapest(self):
        policies = [Zeta(0), PerformBest(), Zeta(1), Cheapest()]
        [seen] = simulate(Model(5, 2), policies, [Pool(50, 20)], 1000, np.random.default_rng(3))
        assert np.array_equal(seen.performance[policies[0]], seen.performance[policies[1]])
        assert np.array_equal(seen.cost[policies[2]], seen.cost[policies[3]])
        assert_mean(seen.performance[policies[2]], 5 / 7)
        assert_mean(seen.cost[policies[2]], 21 / (2 * 51))  # mean of the 20 lowest of 50 uniform values

    def test_k_in_proportion_within_the_window_has_its_limit(self):
        model, policy = Model(1, 1), Zeta(0.5)
        [seen] = simulate(model, [policy], [Pool(4000, 1000)], 30, np.random.default_rng(4))
        performance, cost = model.zeta_share(0.5, 0.25)
        assert seen.performance[policy].mean() == pytest.approx(performance, abs=0.005)
        assert seen.cost[policy].mean() == pytest.approx(cost, abs=0.005)

    def test_k_in_proportion_beyond_the_window_stays_random(self):
        model, policy, best = Model(1, 1), Zeta(0.5), PerformBest()
        assert model.zeta_share(0.5, 0.6) is None
        [seen] = simulate(model, [policy, best], [Pool(10_000, 6000)], 40, np.random.default_rng(5))
        assert seen.cost[best].std() < 0.006  # vanishes like 1/√M
        assert seen.cost[policy].std() > 0.01

    def test_the_threshold_of_a_finite_pool_depends_on_the_spread(self):
        wide, equals = Model(8, 3), Model(400, 100)
        assert finite_threshold(wide, Pool(50, 30), draws=200) > wide.threshold() > wide.claimed_threshold()
        assert finite_threshold(equals, Pool(50, 30), draws=200) < 0.7 * equals.claimed_threshold()


pools = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0, 1), min_size=n, max_size=n),
        st.lists(st.floats(0, 1), min_size=n, max_size=n),
        st.integers(1, n),
        st.floats(0, 1),
        st.integers(0, n - 1),
    )
)


class TestWhatNeedsNoLimit:
    @given(pools)
    def test_zeta_scores_at_least_1_minus_zeta_of_perform_best(self, pool):
        scores, costs, k, zeta, _ = pool
        rng = np.random.default_rng(1)
        chosen = Zeta(zeta).choose(scores, costs, k, rng)
        best = PerformBest().choose(scores, costs, k, rng)
        scores = np.array(scores)
        assert scores[chosen].sum() >= (1 - zeta) * scores[best].sum() - 1e-9

    @given(pools, st.floats(0, 1))
    def test_a_chosen_model_that_gets_cheaper_is_still_chosen(self, pool, factor):
        """A choice and its own cost are then never positively correlated: ζ costs at most E γ for every M and k."""
        scores, costs, k, zeta, i = pool
        rng = np.random.default_rng(1)
        before = Zeta(zeta).choose(scores, costs, k, rng)[i]
        costs[i] *= factor
        assert Zeta(zeta).choose(scores, costs, k, rng)[i] >= before


class TestChecks:
    def test_what_the_paper_claims_holds_in_its_order_of_limits(self, checks):
        of_wide = [c for c in checks if c.model == Model(2, 2) and c.zeta in (None, 0.2)]
        assert len(of_wide) == 10
        assert all(c.holds for c in of_wide), [c for c in of_wide if not c.holds]

    def test_the_limits_of_lemma_2_fail_without_a_window(self, checks):
        cost = one([c for c in checks if c.model == Model(2, 2)], ZETA_COST, 0.0)
        cheaper = one([c for c in checks if c.model == Model(2, 2)], CHEAPER_THAN_BEST, 0.0)
        assert (cost.holds, cheaper.holds) == (False, False)
        assert "no pool is large enough" in cost.remark

    def test_nothing_is_said_where_nothing_is_claimed(self, checks):
        above = one([c for c in checks if c.model == Model(2, 2)], ZETA_ABOVE_CAND, 0.3)
        assert above.holds is None
        assert above.remark == "nothing is claimed for this ζ"
        assert above.limit > 0  # ζ is still above CAND: the condition is not necessary

    def test_in_a_pool_of_near_equals_the_claim_is_the_other_way_round(self, checks):
        equals = [c for c in checks if c.model == Model(400, 100)]
        above = one(equals, ZETA_ABOVE_CAND, 0.08)
        assert above.limit > 0  # 0.08 < (1 − E X)/2 = 0.1
        assert {Pool(100, 4), Pool(50, 30)} <= set(above.fails_at)
        assert above.holds is None
        assert "needs M >" in above.remark
        assert one(equals, ZETA_PERFORMANCE, 0.08).holds is None

    def test_zeta_is_close_to_best_in_every_draw(self, checks):
        close = [c for c in checks if c.claim is CLOSE_TO_BEST]
        assert all(m.share == 1 for c in close for m in c.measured + c.proportional)
        assert all(c.holds for c in close)

    def test_simulated_means_agree_with_exact_ones(self, checks):
        measured = [m for c in checks for m in c.measured + c.proportional if m.exact is not None]
        assert len(measured) == 2 * 4 * 5
        assert all(abs(m.mean - m.exact) < 4.5 * m.error for m in measured)

    def test_the_same_seed_gives_the_same_checks(self):
        small = {"models": [Model(2, 2)], "zetas": [0.2], "budget": 2000}
        pools = {"growing": [Pool(10, 2), Pool(100, 2)], "proportional": [Pool(50, 30)]}
        assert check_theory(7, **small, **pools) == check_theory(7, **small, **pools)
        assert check_theory(7, **small, **pools) != check_theory(8, **small, **pools)

    def test_proportional_pools_share_a_ratio(self):
        with pytest.raises(
            ParameterError, match=r"The 'proportional' parameter of check_theory must be pools with one"
        ):
            check_theory(proportional=[Pool(50, 30), Pool(50, 20)])


class TestReport:
    def test_every_row_of_the_table_has_every_column(self, checks):
        lines = checks_table(checks).replace(r"\|", "").splitlines()
        assert len(lines) == 2 + len(checks)
        assert len({line.count("|") for line in lines}) == 1

    @pytest.mark.long
    def test_everything_is_written(self, checks, tmp_path):
        files = write_theory(tmp_path / "new", checks, draws=5)
        assert [file.name for file in files] == [f"theory.{s}" for s in ("md", "csv", "svg", "pdf", "png")]
        assert all(file.stat().st_size > 1000 for file in files)
        rows = (tmp_path / "new" / "theory.csv").read_text().splitlines()
        assert len(rows) == 1 + 5 * len(checks)
