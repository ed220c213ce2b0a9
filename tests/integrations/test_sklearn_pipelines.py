"""HEROS in scikit-learn pipelines: columns, frames between steps, routed weights."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from heros import DataError, pools
from heros.integrations.sklearn import HerosClassifier, HerosRegressor

POOL = pools.MLPGrid(hidden=[16], learning_rates=[0.05, 0.005])


def orders(n=600, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "km": rng.exponential(10, n),
            "weight": np.where(rng.random(n) < 0.1, np.nan, rng.normal(5, 1, n)),
            "city": rng.choice(["Mainz", "Köln", "Bonn"], n),
        }
    )
    late = (frame["km"] > 9) | (frame["city"] == "Köln")
    return frame, np.where(late, "yes", "no")


def columns():
    scaler = StandardScaler()
    if sklearn.get_config()["enable_metadata_routing"]:  # its own weights must then be refused
        scaler.set_fit_request(sample_weight=False)
    numbers = make_pipeline(SimpleImputer(), scaler)
    names = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numbers", numbers, ["km", "weight"]), ("names", names, ["city"])])


def classifier(**more):
    return HerosClassifier(POOL, random_state=1, **more)


def test_a_pipeline_with_columns_is_the_model_on_what_they_give():
    X, y = orders()
    pipeline = Pipeline([("columns", columns()), ("heros", classifier())]).fit(X, y)
    given = columns().fit(X).transform(X)
    alone = classifier().fit(given, y)
    assert np.array_equal(pipeline.predict_proba(X), alone.predict_proba(given))
    assert pipeline.score(X, y) > 0.85
    assert pipeline.classes_.tolist() == ["no", "yes"]


def test_texts_in_an_array_need_set_output():
    X, y = orders()
    scaled = ColumnTransformer([("numbers", StandardScaler(), ["km"])], remainder="passthrough")
    with pytest.raises(
        DataError, match=r"set_output\(transform='pandas'\) keeps strings.*could not convert string"
    ):
        make_pipeline(scaled, classifier()).fit(X, y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_gives_the_model_a_frame_with_the_names_of_the_columns(library):
    X, y = orders()
    pipeline = Pipeline([("columns", columns()), ("heros", classifier())]).set_output(transform=library)
    pipeline.fit(X, y)
    names = pipeline[:-1].get_feature_names_out().tolist()
    assert pipeline["heros"].feature_names_in_.tolist() == names
    assert [feature.name for feature in pipeline["heros"].heros_.schema.features] == names
    assert pipeline.score(X, y) > 0.85
    assert (
        pipeline.predict(X[:3]).tolist() == pipeline["heros"].predict(pipeline[:-1].transform(X[:3])).tolist()
    )


def test_columns_that_pass_through_keep_their_names_and_missing_values():
    X, y = orders()
    through = ColumnTransformer(
        [("numbers", StandardScaler(), make_column_selector(dtype_include=float))],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipeline = make_pipeline(through, classifier()).fit(X, y)
    city = pipeline[-1].heros_.schema.features[2]
    assert (city.name, sorted(city.values)) == ("city", ["Bonn", "Köln", "Mainz"])
    assert pipeline.score(X, y) > 0.85


def test_a_pipeline_is_cloned_and_searched():
    X, y = orders(300)
    pipeline = Pipeline([("columns", columns()), ("heros", classifier())])
    grid = {"heros__k": [1, 4], "columns__numbers__simpleimputer__strategy": ["mean", "median"]}
    search = GridSearchCV(pipeline, grid, cv=2, scoring="accuracy", error_score="raise").fit(X, y)
    assert search.best_score_ > 0.7
    assert clone(search.best_estimator_)["heros"].k == search.best_params_["heros__k"]


def test_a_pipeline_passes_weights_by_the_name_of_the_step():
    X, y = orders()
    weights = np.where(y == "yes", 5.0, 1.0)
    pipeline = Pipeline([("columns", columns()), ("heros", classifier())]).fit(
        X, y, heros__sample_weight=weights
    )
    given = columns().fit_transform(X)
    weighed, plain = classifier().fit(given, y, sample_weight=weights), classifier().fit(given, y)
    assert np.array_equal(pipeline.predict_proba(X), weighed.predict_proba(given))
    assert not np.array_equal(pipeline.predict_proba(X), plain.predict_proba(given))


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_routed_weights_reach_the_model_of_a_pipeline(routing):
    X, y = orders()
    weights = np.where(y == "yes", 5.0, 1.0)
    pipeline = make_pipeline(columns(), classifier().set_fit_request(sample_weight=True))
    pipeline.fit(X, y, sample_weight=weights)
    given = columns().fit_transform(X)
    assert np.array_equal(
        pipeline.predict_proba(X), classifier().fit(given, y, sample_weight=weights).predict_proba(given)
    )


def test_weights_that_are_not_wanted_are_not_passed(routing):
    X, y = orders()
    weights = np.where(y == "yes", 5.0, 1.0)
    scaler = StandardScaler().set_fit_request(sample_weight=True)
    numbers = X[["km"]]
    pipeline = make_pipeline(scaler, classifier().set_fit_request(sample_weight=False))
    pipeline.fit(numbers, y, sample_weight=weights)
    given = StandardScaler().fit(numbers, sample_weight=weights).transform(numbers)
    assert np.array_equal(pipeline.predict_proba(numbers), classifier().fit(given, y).predict_proba(given))


def test_weights_that_nobody_asked_for_are_an_error(routing):
    X, y = orders(100)
    with pytest.raises(ValueError, match="sample_weight"):
        make_pipeline(columns(), classifier()).fit(X, y, sample_weight=np.ones(100))


def test_weights_are_routed_through_cross_validation(routing):
    X, y = orders()
    weights = np.where(y == "yes", 5.0, 1.0)
    model = classifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    scores = cross_validate(
        make_pipeline(columns(), model), X, y, params={"sample_weight": weights}, cv=3, error_score="raise"
    )
    assert scores["test_score"].min() > 0.7


def test_partial_fit_takes_requests_too(routing):
    model = classifier().set_partial_fit_request(sample_weight=True, classes=True)
    request = model.get_metadata_routing().partial_fit.requests
    assert (request["sample_weight"], request["classes"]) == (True, True)


def test_a_regressor_in_a_pipeline_takes_routed_weights(routing):
    X, _ = orders()
    y = X["km"].to_numpy() * 2 + 1
    weights = np.linspace(0.5, 2, len(y))
    pipeline = make_pipeline(columns(), HerosRegressor(random_state=1).set_fit_request(sample_weight=True))
    pipeline.fit(X, y, sample_weight=weights)
    given = columns().fit_transform(X)
    alone = HerosRegressor(random_state=1).fit(given, y, sample_weight=weights)
    assert np.array_equal(pipeline.predict(X), alone.predict(given))
