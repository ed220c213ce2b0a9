"""Late labels: predicted, learnt, expired and counted instances."""

import copy
import math
import pickle
import signal
import sys
import threading
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pytest

from heros import DataError, Heros, ParameterError, Schema, policies, pools, streams
from heros.data.schema import schema_plain
from heros.ensemble.late import LateLabels, Pending
from heros.measures import Accuracy, LogLoss
from heros.storage import archive

POOL = pools.MLPGrid(hidden=[8], optimizers=["adam"])
STREAM = streams.Agrawal(function=2, seed=5)
X, Y = STREAM.take(400).draw(400)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def fresh():
    return Heros(POOL, policies.Explore(policies.Zeta(0.05), 0.2), k=2, seed=1, schema=STREAM.schema)


def test_a_label_that_comes_at_once_is_prequential_learning():
    late, plain = LateLabels(fresh()), fresh()
    block = plain.test_then_train(X, Y)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        assert (late.answer(i, x) == block.probabilities[i]).all()
        assert late.learn(i, y)
    assert (late.model.predict_proba(X) == plain.predict_proba(X)).all()
    assert late.figures["accuracy"] == pytest.approx((block.probabilities.argmax(axis=1) == Y).mean())


def test_what_was_answered_then_is_measured_and_labels_are_learnt_as_they_come():
    late, plain = LateLabels(fresh()), fresh()
    order = np.random.default_rng(1).permutation(len(Y))
    given = [late.answer(f"order {i}", x) for i, x in enumerate(X)]  # all instances before the first label
    for i in order:
        late.learn(f"order {i}", Y[i])
        plain.learn(X[i], Y[i])
    assert (late.model.predict_proba(X) == plain.predict_proba(X)).all()
    hits = np.array(given).argmax(axis=1) == Y
    assert late.figures["accuracy"] == pytest.approx(hits.mean())
    assert (late.waiting, late.counts.learnt) == (0, 400)


def test_too_many_or_too_old_go_and_are_counted():
    clock, gone = Clock(), []
    late = LateLabels(fresh(), most=3, longest=60, expired=lambda id, x: gone.append(id), clock=clock)
    for i in range(5):
        late.answer(i, X[i])
        clock.now += 10
    assert gone == [0, 1]
    clock.now += 40  # the third instance has waited for 70 seconds
    assert not late.learn(2, Y[2])
    assert late.learn(4, Y[4])
    assert gone == [0, 1, 2]
    assert (late.counts.expired, late.counts.unknown, late.waiting) == (3, 1, 1)
    assert late.forget(3)
    assert not late.forget(3)
    assert late.counts.expired == 4


def test_asked_again_it_says_the_same_and_of_something_else_nothing():
    late = LateLabels(fresh())
    first = late.answer("a", X[0])
    late.answer("b", X[1])
    late.learn("b", Y[1])
    assert (late.answer("a", X[0]) == first).all()
    assert late.counts.answered == 2
    with pytest.raises(DataError, match="The id 'a' must be new"):
        late.answer("a", X[5])


def test_a_bad_label_leaves_the_instance_waiting():
    late = LateLabels(fresh())
    late.answer("a", X[0])
    with pytest.raises(DataError, match="class index"):
        late.learn("a", 7)
    assert late.waiting == 1
    assert late.learn("a", 1)


def test_a_schema_that_grew_meanwhile():
    model = Heros(POOL, k=2, seed=1, schema=Schema.of(["a"], classes=["no", "yes"]))
    late = LateLabels(model)
    late.answer("old", [1.0])
    features = ["a", ("b", "x", "y")]
    grown = Schema.of(features, classes=["no", "yes", "maybe"])
    grown = Schema((grown.features[0], type(grown.features[1])("b", ("x", "y"), missing=True)), grown.classes)
    model.bind(grown)
    late.answer("new", [1.0, 0])
    assert late.learn("old", 2)
    assert late.learn("new", 0)


def test_all_of_it_comes_back_from_a_file(tmp_path):
    late, again = LateLabels(fresh(), most=50, clock=Clock()), None
    for i in range(100):
        late.answer(i if i % 2 else str(i), X[i])
        if i % 3 == 0:
            late.learn(i if i % 2 else str(i), Y[i])
    late.save(tmp_path / "late.heros")
    again = LateLabels.load(tmp_path / "late.heros", clock=Clock())
    assert (again.counts, again.waiting, again.most) == (late.counts, late.waiting, 50)
    assert again.figures == late.figures
    for i in range(100):
        id = i if i % 2 else str(i)
        assert late.learn(id, Y[i]) == again.learn(id, Y[i])
    assert (late.model.predict_proba(X) == again.model.predict_proba(X)).all()
    assert again.figures == late.figures


def test_a_file_of_something_else_is_refused(tmp_path):
    fresh().save(tmp_path / "model.heros")
    with pytest.raises(DataError, match="does not hold a late labels"):
        LateLabels.load(tmp_path / "model.heros")


def test_an_empty_one_is_saved_too(tmp_path):
    LateLabels(Heros(POOL, k=1), measures=[Accuracy()]).save(tmp_path / "late.heros")
    assert LateLabels.load(tmp_path / "late.heros").waiting == 0


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"most": 0}, "The 'most' parameter of LateLabels must be"),
        ({"longest": -1}, "The 'longest' parameter of LateLabels must be"),
        ({"model": None}, "The 'model' parameter of LateLabels must be a Heros"),
    ],
)
def test_what_cannot_be_meant_is_said(settings, text):
    with pytest.raises(ParameterError, match=text):
        LateLabels(**({"model": fresh()} | settings))


@pytest.mark.parametrize("id", [1.5, None, True, "\ud800", 10**5000], ids=range(5))
def test_an_id_is_text_or_a_whole_number(id):
    with pytest.raises(ParameterError, match="'id'"):
        LateLabels(fresh()).answer(id, X[0])


def test_what_waits_goes_when_there_is_no_more_room_or_time():
    now, gone = [0.0], []
    pending: Pending[str] = Pending(3, 10.0, lambda id, what: gone.append((id, what)), lambda: now[0])
    for id in range(4):
        pending.put(id, f"row {id}")
        now[0] += 1
    assert gone == [(0, "row 0")]
    now[0] = 11.5
    pending.enforce_limits()
    assert (list(pending), gone[1:]) == ([2, 3], [(1, "row 1")])
    assert (pending.take(2), pending.take(2), pending.evict(2)) == ("row 2", None, False)


def test_a_label_may_be_the_name_of_its_class():
    named, indexed = LateLabels(fresh()), LateLabels(fresh())
    for i, (x, y) in enumerate(zip(X[:50], Y[:50], strict=True)):
        for late, label in ((named, STREAM.schema.classes[y]), (indexed, y)):
            late.answer(i, x)
            assert late.learn(i, label)
    assert named.figures == indexed.figures


# -- rows as dictionaries ------------------------------------------------------------------------------------


def table(n=80):
    """Return rows in the form that users write; columns, values and classes appear over time."""
    for i in range(n):
        row = {
            "when": datetime(2026, 1 + i % 12, 1 + i % 28, i % 24, tzinfo=UTC if i % 2 else None),
            "day": date(2026, 1 + i % 12, 1 + i % 28),
            "price": Decimal(i) / 4 if i % 3 else f"€{i}",
            "took": timedelta(milliseconds=i),
            "size": math.nan if i % 5 == 0 else np.float32(i),
            "place": {"high": i % 2 == 0, "city": f"c{i // 20}"},
            "tags": [i],
        }
        if i > 40:
            row["at"] = time(i % 24, 30)
        yield row, ("no", "yes", "maybe")[i % (2 + (i > 50))]


def numbers(n=80):
    for i, (row, _) in enumerate(table(n)):
        yield row, (i + 0.5) / 7


@pytest.mark.filterwarnings("ignore::heros.DataNotice")
@pytest.mark.parametrize("rows", [table, numbers])
@pytest.mark.parametrize("stops", [False, True])
def test_rows_are_learnt_as_by_a_model_alone_when_their_labels_come(tmp_path, rows, stops):
    late, alone = LateLabels(Heros(POOL, k=2, seed=1)), Heros(POOL, k=2, seed=1)
    todo, given = list(rows()), {}
    for i, (row, _) in enumerate(todo):
        given[i] = late.answer(i, row)
        if i < 15:
            continue
        earlier, label = todo[i - 15]
        expected = np.zeros(0) if alone.schema is None else alone.answers(todo[i][0])
        assert np.array_equal(given[i], expected)
        assert late.learn(i - 15, label)
        alone.learn(earlier, label)
        if stops and i % 7 == 0:
            late.save(tmp_path / "late.heros")
            late = LateLabels.load(tmp_path / "late.heros")
    assert (late.waiting, late.counts.learnt) == (15, 65)
    assert late.model.schema == alone.schema
    assert schema_plain(late.model.schema) == schema_plain(alone.schema)
    assert np.array_equal(
        late.model.answers([row for row, _ in todo]), alone.answers([row for row, _ in todo])
    )
    assert ("mae" in late.figures) == (rows is numbers)


def test_before_anything_is_known_all_classes_are_as_likely():
    late = LateLabels(Heros(POOL, k=2, seed=1), measures=[LogLoss()])
    for i in range(2):
        assert len(late.answer(i, {"a": i})) == 0
    late.learn(0, "no")
    late.learn(1, "yes")
    assert late.figures["log_loss"] == pytest.approx((0 + np.log(2)) / 2)


def test_a_row_that_cannot_be_read_goes_on_waiting_and_leaves_no_trace():
    late = LateLabels(Heros(POOL, k=2, seed=1))
    for i in range(6):
        late.answer(i, {"a": i, "b": 1.0})
        late.learn(i, "no")
    schema = late.model.schema
    late.answer("bad", {"a": 7, "new": "value"})
    with pytest.raises(DataError, match="The label must have a value"):
        late.learn("bad", None)
    with pytest.raises(DataError, match=r"The feature 'a' must be a number\. Got 'many' instead"):
        late.answer("worse", {"a": "many"})
    assert late.model.schema is schema
    assert late.waiting == 1
    assert late.learn("bad", "yes")
    assert late.model.schema.classes == ("no", "yes")


def test_a_row_asked_again_is_the_same_if_it_reads_alike():
    late = LateLabels(Heros(POOL, k=2, seed=1))
    row = {"a": math.nan, "b": {"c": 1}, "d": Decimal("2.50")}
    late.answer(1, row)
    row["b"]["c"] = 2  # the caller may change its row afterwards
    late.answer(1, {"a": None, "b": {"c": 1}, "d": Decimal("2.50")})
    for other in (row, [1.0, 2.0, 3.0]):
        with pytest.raises(DataError, match="must be new"):
            late.answer(1, other)
    assert late.counts.answered == 1


def test_arrays_and_rows_wait_in_one_file(tmp_path):
    late = LateLabels(Heros(POOL, k=2, seed=1, schema=Schema.of(["a"], classes=["no", "yes"])))
    late.answer("array", [1.0])
    late.answer("row", {"a": 1.0})
    late.save(tmp_path / "late.heros")
    again = LateLabels.load(tmp_path / "late.heros")
    for one in (late, again):
        assert one.learn("row", "maybe")
        assert one.learn("array", "maybe")
    assert (again.model.predict_proba([[1.0]]) == late.model.predict_proba([[1.0]])).all()


def test_waiting_instances_are_bounded_in_bytes(tmp_path):
    late = LateLabels(Heros(pools.MLPGrid(hidden=[8]), k=1, seed=1), memory=1_000_000)
    for i in range(300):
        late.answer(i, {f"f{j}": "z" * 100 for j in range(100)})  # 10 kB of text each
    assert 20 < late.waiting < 100
    assert late.counts.expired == 300 - late.waiting
    with pytest.raises(
        DataError,
        match=r"must take at most a quarter of the memory limit \(1,000,000 bytes\)\. Got [0-9,]+ bytes\.",
    ):
        late.answer("large", {"f": "z" * 300_000})
    assert late.waiting > 20
    late.save(tmp_path / "late")
    assert LateLabels.load(tmp_path / "late").memory == 1_000_000


def test_ids_count_as_memory():
    late = LateLabels(Heros(pools.MLPGrid(hidden=[8]), k=1, seed=1), memory=1_000_000)
    for i in range(30):
        late.answer(f"{i}" + "x" * 100_000, {"f": 1})
    assert late.waiting < 10
    with pytest.raises(
        DataError,
        match=r"must take at most a quarter of the memory limit \(1,000,000 bytes\)\. Got 30[0-9],[0-9]+",
    ):
        late.answer("x" * 300_000, {"f": 1})


def test_a_clock_that_was_ahead_for_a_moment_keeps_nothing_beyond_its_time():
    now = 2e9
    late = LateLabels(Heros(pools.MLPGrid(hidden=[8]), k=1, seed=1), longest=10, clock=lambda: now)
    late.answer("ahead", {"f": 1})
    now = 1e9
    late.answer("right", {"f": 1})
    now += 11
    assert not late.learn("right", "yes")
    assert late.waiting == 0


def test_the_first_label_chooses_the_measures_after_a_restart_too(tmp_path):
    late = LateLabels(Heros(k=1, seed=1))
    late.answer("a", {"size": 1.0})
    late.save(tmp_path / "late.heros")
    again = LateLabels.load(tmp_path / "late.heros")
    again.learn("a", 2.5)
    assert {"mae", "rmse"} <= again.figures.keys()


class Pressing:
    """A policy that raises Ctrl-C at its n-th choice."""

    def __init__(self, at):
        self.at = at

    def choose(self, scores, costs, k, rng):
        self.at -= 1
        if self.at == 0:
            signal.raise_signal(signal.SIGINT)
        return np.arange(len(scores)) < k


class PressingMeasure(Accuracy):
    def update(self, y, output):
        signal.raise_signal(signal.SIGINT)
        super().update(y, output)


def test_ctrl_c_while_learning_leaves_the_model_and_what_waits_in_step():
    for policy, measures in ((Pressing(3), None), (policies.Zeta(0.05), [PressingMeasure()])):
        model = Heros(POOL, policy, k=2, seed=1, schema=STREAM.schema, warmup=0)
        late = LateLabels(model, measures=measures)
        for i in range(8):
            late.answer(i, X[i])
        interrupted = 0
        for i in range(8):
            try:
                late.learn(i, Y[i])
            except KeyboardInterrupt:
                interrupted += 1
            assert late.counts.learnt == model.instances == 8 - late.waiting == i + 1
        assert interrupted == (8 if measures else 1)
        assert late.figures["accuracy"] * 8 % 1 == 0


def test_a_callback_may_learn_another_instance():
    learnt = []

    def gone(id, x):
        assert not late.learn(id, 0)
        learnt.append(late.learn(1, Y[1]))

    late = LateLabels(fresh(), most=3, expired=gone)
    for i in range(4):
        late.answer(i, X[i])
    assert (learnt, late.waiting, late.model.instances, late.counts.learnt) == ([True], 2, 1, 1)


def test_it_can_be_pickled_and_copied():
    late = LateLabels(fresh(), most=3)
    for i in range(4):
        late.answer(i, X[i])
    for again in (pickle.loads(pickle.dumps(late)), copy.deepcopy(late)):
        assert again.learn(3, Y[3])
        assert (again.waiting, again.counts.expired) == (2, 1)
    assert late.waiting == 3


def test_a_measure_or_a_clock_that_is_none_is_said():
    for wrong in (["accuracy"], [Accuracy], [3], "accuracy", 3):
        with pytest.raises(ParameterError, match="The 'measures' parameter of LateLabels must be a list"):
            LateLabels(fresh(), measures=wrong)
    with pytest.raises(ParameterError, match="The 'clock' parameter of LateLabels must be a function"):
        LateLabels(fresh(), clock=7)
    for now in (None, "noon", math.nan, datetime.now(UTC)):
        late = LateLabels(fresh(), clock=lambda now=now: now)
        with pytest.raises(
            ParameterError, match="The 'clock' parameter of LateLabels must be a function that"
        ):
            late.answer(1, X[0])
        assert (late.waiting, late.counts.answered) == (0, 0)
    with pytest.raises(ParameterError, match="The 'expired' parameter of LateLabels must be a function"):
        LateLabels(fresh(), expired="no")
    late = LateLabels(fresh(), clock=lambda: np.float64(5))
    late.answer(1, X[0])
    assert late.learn(1, Y[0])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("x", lambda array: array[:, :-1]),
        ("x", lambda array: np.pad(array, ((0, 0), (0, 2)))),
        ("x", lambda array: array.ravel()),
        ("answers", lambda array: array[:, :1]),
        ("answers", lambda array: np.pad(array, ((0, 0), (0, 2)))),
        ("answers", lambda array: array.astype(np.int64)),
    ],
)
def test_a_forged_file_whose_instances_do_not_fit_the_schema_is_refused(tmp_path, name, change):
    late = LateLabels(fresh())
    for i in range(3):
        late.answer(i, X[i])
    late.save(tmp_path / "late")
    document, arrays = archive.read(tmp_path / "late", "late labels")
    arrays[f"waiting/{name}"] = change(arrays[f"waiting/{name}"])
    archive.write(tmp_path / "late", "late labels", document, arrays)
    with pytest.raises(DataError, match="does not contain a complete LateLabels object"):
        LateLabels.load(tmp_path / "late")


def test_a_pickle_does_not_change_while_other_threads_use_the_original():
    late = LateLabels(Heros(pools.MLPGrid(hidden=[2]), k=1, seed=1))
    late.answer("a", {"size": 1})
    state = late.__getstate__()  # as pickle and copy request it, before they read its values
    late.learn("a", "yes")
    late.answer("b", {"size": 2})
    assert list(state["_waiting"]) == ["a"]
    assert (state["counts"].answered, state["model"].schema) == (1, None)
    again = pickle.loads(pickle.dumps(late))
    assert again.learn("b", "no")
    assert (again.waiting, again.counts.learnt, late.waiting, late.counts.learnt) == (0, 2, 1, 1)


def test_an_instance_that_is_text_is_a_clear_error():
    late = LateLabels(Heros(pools.MLPGrid(hidden=[2]), k=1, seed=1))
    with pytest.raises(ParameterError, match="'x' parameter of answer must be a dictionary or an array"):
        late.answer("a", "text")


def test_threads_wait_for_each_other():
    late, errors, learnt = LateLabels(fresh()), list[Exception](), list[int]()

    def use(thread):
        for i in range(40):
            try:
                late.answer(f"{thread} {i}", X[i])
                learnt.append(late.learn(f"{thread} {i}", Y[i]))
                learnt.append(late.learn("shared", Y[0]))
                late.answer("shared", X[0])
            except Exception as error:
                errors.append(error)

    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=use, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switching)
    assert not errors
    assert sum(learnt) == late.counts.learnt == late.model.instances
    assert copy.deepcopy(late).learn("shared", Y[0])
