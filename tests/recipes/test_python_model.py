"""Follow CONTRIBUTING.md to write a model in Python: an object with two methods."""

import pickle

import numpy as np

from heros import Heros, evaluate, policies, pools, streams
from heros.checks import check_model


class Stump:
    """Predicts the class by the side of a feature's running mean."""

    def __init__(self, feature):
        self.feature, self.n, self.mean = feature, 0, 0.0

    def bind(self, schema):
        self.counts = np.ones((2, schema.n_classes))

    def predict_proba(self, x):
        return self.counts[int(x[self.feature] > self.mean)]

    def learn(self, x, y):
        self.n += 1
        self.mean += (x[self.feature] - self.mean) / self.n
        self.counts[int(x[self.feature] > self.mean), y] += 1


def test_a_model_of_ones_own_is_an_object_with_two_methods():
    check_model(Stump(0))
    stumps = [(f"stump {feature}", Stump(feature)) for feature in range(9)]
    pool = pools.Models(stumps, costs=[1] * 9)
    model = Heros(pool, policies.Cand(), k=4, watch="trained", seed=1)
    run = evaluate(model, streams.Agrawal(function=1).take(3000))
    assert run.accuracy > 0.6
    assert model.bound["stump 2"].n == model.trained[2]
    twin = pickle.loads(pickle.dumps(model))
    X, y = streams.Agrawal(function=1, seed=2).draw(200)
    expected = model.test_then_train(X, y).probabilities
    assert np.array_equal(twin.test_then_train(X, y).probabilities, expected)


def test_it_joins_the_compiled_ones():
    stumps = pools.Models([Stump(2), Stump(3)], costs=[1, 1])
    pool = pools.Join(pools.MLPGrid(hidden=[8], learning_rates=[0.05]), stumps, costs=[9, 1])
    run = evaluate(Heros(pool, k=2, seed=1), streams.Agrawal(function=1).take(1000))
    assert run.trained.shape == (4,)
