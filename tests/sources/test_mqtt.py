"""MQTT as a source: messages cannot be read again, but every row is learnt once."""

import os
import shutil
import sys
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))
from queues import Mqtt
from test_queues import fresh, killed_and_resumed, learnt, once, polled, rows

from faults.system import no_room_beyond
from heros import DataError, DataNotice, HerosError, ParameterError, evaluate
from heros.storage.last_number import LastNumber
from heros.streams.live import END, IDLE, mqtt
from heros.streams.live.journal import Journal, Received
from heros.streams.live.mqtt import MqttTopic


@pytest.fixture
def broker(tmp_path):
    server = Mqtt(tmp_path)
    yield server
    server.stop()


@pytest.mark.filterwarnings("ignore:.*are skipped and counted:heros.DataNotice")
@pytest.mark.parametrize("qos", [1, 2])
def test_all_rows_in_their_order_and_what_is_no_row(broker, qos):
    todo = rows(300)
    broker.send([*todo[:100], b"{broken", *todo[100:]], qos)
    model = fresh()
    with broker.source(target="y", follow=False) as source:
        run = evaluate(model, source)
    assert (run.n_instances, run.bad_rows.count) == (300, 1)
    assert learnt(model) == once(todo)


def test_killed_again_and_again_every_row_is_learnt_once_mqtt(tmp_path):
    known, expected = killed_and_resumed("mqtt", tmp_path)
    assert known == expected


def test_what_a_checkpoint_does_not_hold_comes_again(broker):
    broker.send(rows(50))
    with broker.source(target="y") as source:
        polled(source, 20)
        where = source.where()
        polled(source, 10)
    broker.send(rows(60)[50:])  # no client is connected, so the broker stores the message
    with broker.source(target="y") as source:
        source.seek(where)
        polled(source, 40)
        assert source.poll(10, 0.2) is IDLE
        source.acknowledge(source.where())
    with broker.source(target="y") as source:  # another run does not get settled messages
        assert source.poll(10, 0.2) is IDLE


def test_what_the_broker_sends_again_is_left_out(broker):
    with broker.source(target="y") as source:
        source._client.ack = lambda mid, qos: None  # as if the connection broke before it arrived
        same = rows(1) * 4  # equal rows are different messages
        broker.send(same)
        polled(source, 4)
        where = source.where()
    broker.send(rows(2)[1:])
    with broker.source(target="y") as source:
        source.seek(where)
        polled(source, 1)
        assert source.poll(1, 0.5) is IDLE
        assert source.position == 5


def test_without_a_journal_it_is_read_as_it_comes(broker, tmp_path):
    with broker.source(target="y", journal=None) as source:
        broker.send(rows(30))
        polled(source, 30)
        where = source.where()
    with broker.source(target="y", journal=None) as source, pytest.raises(DataError, match="must hold"):
        source.seek(where)


def test_the_journal_reaches_as_far_back_as_checkpoints_do(tmp_path):
    journal = Journal(tmp_path / "journal", recent=2)
    journal.append([Received(i, "t", b"%d" % i) for i in range(10)])
    journal.settle(9, trim=4)
    journal.close()
    journal = Journal(tmp_path / "journal", recent=2)
    assert (journal.settled, journal.last, [n for n, _ in journal.after(7)]) == (9, 10, [8, 9, 10])
    assert [one.number for one in journal.newest()] == [8, 9]
    for sequence in (3, 11):
        with pytest.raises(DataError, match=f"must hold all messages after number {sequence}"):
            journal.after(sequence)
    journal.settle(10, trim=10)
    assert [n for n, _ in journal.after(8)] == [9, 10]
    with pytest.raises(HerosError, match="cannot be opened as a separate file"):
        Journal(tmp_path)


def test_messages_that_a_damaged_journal_has_lost_are_counted(tmp_path):
    journal = Journal(tmp_path / "journal")
    for i in range(20):
        journal.append([Received(i, "t", b"x")])
    shutil.copytree(tmp_path, tmp_path / "killed")
    journal.close()
    log = tmp_path / "killed" / "journal-wal"
    with log.open("r+b") as file:
        file.seek(log.stat().st_size // 2)
        file.write(b"\xff" * 100)
    for _ in range(2):
        journal = Journal(tmp_path / "killed" / "journal")
        assert 0 < journal.last < 20
        assert journal.lost == 20 - journal.last
        journal.close()
    journal = Journal(tmp_path / "killed" / "journal")
    journal.go_on()
    journal.append([Received(20, "t", b"x")])
    journal.close()
    assert Journal(tmp_path / "killed" / "journal").lost == 0


def test_a_source_tells_of_messages_that_its_journal_has_lost(broker):
    with broker.source(target="y") as source:
        broker.send(rows(20))
        polled(source, 20)
        path = source._journal.path
    last = LastNumber(path)
    last.write(25)
    last.close()
    for _ in range(2):
        with pytest.raises(DataError, match="after message 20 of its journal"):
            broker.source(target="y")
    with pytest.warns(DataNotice, match="a gap of 5 messages"):
        broker.source(target="y", on_gap="go on").close()
    broker.source(target="y").close()


def test_a_damaged_journal_is_a_clear_error(tmp_path):
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.append([Received(0, "t", b"x" * 500) for _ in range(200)])
    journal.close()
    with path.open("r+b") as file:
        file.seek(8 * 4096)  # the pages that hold messages
        file.write(b"\xff" * 10 * 4096)
    with pytest.raises(DataError, match=r"The journal .* is damaged: "):
        Journal(path).after(0)


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM messages WHERE sequence = 3", "UPDATE messages SET payload = x'00' WHERE sequence = 3"],
)
def test_a_damaged_message_is_a_clear_error(tmp_path, statement):
    journal = Journal(tmp_path / "journal")
    journal.append([Received(i, "t", b"x") for i in range(5)])
    journal._file.execute(statement)
    with pytest.raises(DataError, match=r"after number 1. Got no message with number 3"):
        journal.after(1)
    assert [number for number, _ in journal.after(3)] == [4, 5]
    journal.close()


def test_a_journal_on_a_full_disk_is_said_and_loses_nothing(broker):
    """A message that the broker sends again without an acknowledgement is learnt once."""
    with broker.source(target="y") as source:
        broker.send(rows(5))
        polled(source, 5)
        with no_room_beyond(0):
            broker.send(rows(10)[5:])
            for _ in range(2):
                with pytest.raises(HerosError, match=r"journal .* cannot be written: "):
                    source.poll(10, 10)
            with pytest.raises(HerosError, match="cannot be written"):
                source.acknowledge(source.where())
        broker.send(rows(12)[10:])
        polled(source, 7)
        where = source.where()
    with broker.source(target="y") as source:
        source.seek(where)
        assert source.poll(1, 0.5) is IDLE
        assert source.position == 12


def test_nobody_there_is_said():
    pytest.importorskip("paho.mqtt")
    with pytest.raises(HerosError, match=r"The MQTT topic mqtt://127.0.0.1:1/t cannot be read"):
        MqttTopic("mqtt://127.0.0.1:1", "t")
    with pytest.raises(ParameterError, match="such as mqtt://host:1883"):
        MqttTopic("tcp://127.0.0.1:1", "t")


@pytest.mark.parametrize("topic", ["a+", "a/#/b", ""])
def test_what_is_no_filter_is_said_at_once(broker, topic):
    with pytest.raises(
        HerosError,
        match=r"cannot be read: the topic is not a valid filter \(Invalid "
        r"subscription filter",
    ):
        MqttTopic(broker.url.partition(" ")[0], topic, target="y")
    with pytest.raises(ParameterError, match="such as mqtt://host:1883"):
        MqttTopic("mqtt://a:1,b:2", topic, target="y")


def test_a_journal_belongs_to_one_topic(broker):
    """Its messages, and those that the broker keeps for its session, must not be learnt as another topic."""
    url, _, journal = broker.url.partition(" ")
    with pytest.raises(ParameterError, match=r"'topic' .* must be 'sensors', the topic of the journal"):
        MqttTopic(url, "others", journal=journal, target="y")
    with broker.source(target="y") as source:  # the journal is as it was
        broker.send(rows(3))
        polled(source, 3)


@pytest.mark.filterwarnings("error")
def test_a_broker_that_has_forgotten_the_session_is_told(broker):
    broker.send(rows(3))
    broker.source(target="y").close()
    broker.kill()
    broker.restart()  # without its session, and the three messages in it
    with broker.source(target="y") as source:
        with pytest.warns(DataNotice, match="has discarded the session of this client"):
            source.poll(1, 0.5)
        broker.send(rows(3))
        polled(source, 3)
    broker.source(target="y").close()


def test_messages_that_need_no_acknowledgement_do_not_fill_the_memory(broker, monkeypatch):
    monkeypatch.setattr(mqtt, "MOST_BYTES", 20_000)
    with broker.source(target="y") as source:
        broker.send(rows(50), qos=0)
        broker.send(rows(1))  # waits for its acknowledgement, so the others have arrived
        while source._came.qsize() < 6:
            time.sleep(0.01)
        with pytest.warns(DataNotice, match=r"[0-9]+ messages with quality of service 0 were dropped"):
            polled(source, 6)
        assert source.poll(1, 0.2) is IDLE


def test_messages_that_are_held_are_on_disk_and_not_in_memory(broker, monkeypatch):
    monkeypatch.setattr(mqtt, "AT_ONCE", 10)
    todo = rows(50)
    with broker.source(target="y") as source:
        broker.send(todo)
        while source._journal.last < 50:
            source.hold()
        assert len(source._written) <= 10
        polled(source, 50)


def test_the_end_is_silence(broker):
    broker.send(rows(5))
    with broker.source(target="y", follow=False) as source:
        polled(source, 5)
        assert source.poll(5) is END
