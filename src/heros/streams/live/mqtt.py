"""MQTT topics as sources."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from heros._base.addresses import expect_servers
from heros._base.errors import DataNotice, HerosError, ParameterError
from heros._base.extras import needed
from heros._base.notices import notice
from heros._base.parameters import whole
from heros.streams.live.journal import Journal, Received
from heros.streams.live.messages import MessageSource, Rows

__all__ = ["MqttTopic"]

PATIENCE = 30.0  # seconds to wait for the broker
QUIET = 2.0  # seconds without a message after which a source ends if `follow` is False
AT_ONCE = 1000  # messages that the broker may send without an acknowledgement
MOST_BYTES = 64_000_000  # while more bytes wait for the journal, messages with QoS 0 are dropped
PORTS = {"mqtt": 1883, "mqtts": 8883}


class MqttTopic(MessageSource):
    """A source of the messages of an MQTT topic, in order of arrival.

    An MQTT broker cannot send acknowledged messages again. Messages are therefore written to a journal file
    before they are acknowledged, and are read from the journal. Checkpoints store the position in the
    journal. After a crash, the broker may resend messages whose acknowledgement it did not receive. Such
    duplicates have the same number, topic and content, and are skipped.

    The subscription uses quality of service (QoS) 1, even for messages published with QoS 2. With QoS 2, a
    crash could lose messages, because the client library keeps parts of a delivery in memory.
    Messages published with QoS 0 may be lost. If these messages arrive faster than models are trained, the
    source drops messages and issues a `DataNotice`. The source also issues a `DataNotice` if the broker has
    lost the session. Messages that arrived while there was no connection are then lost.

    Parameters
    ----------
    url
        The address of the broker, e.g. ``mqtt://localhost:1883``; ``mqtts://`` for an encrypted connection,
        with ``user:password@`` before the host if required. The broker must support MQTT 5.
    topic
        The topic, or a filter such as ``sensors/+/data`` or ``sensors/#``.
    journal
        The journal file for the messages of one topic, which also identifies the session at the broker. With
        None, messages are acknowledged on receipt, and a run cannot be resumed.
    keep
        The number of latest checkpoints from which a run can be resumed with the journal.
    **settings
        As for `heros.streams.live.messages.MessageSource`. Without `follow` the source ends after two seconds
        without a message.
    """

    kind = "MQTT topic"

    def __init__(
        self,
        url: str,
        topic: str,
        *,
        journal: str | os.PathLike[str] | None = None,
        keep: int = 3,
        **settings: Any,
    ) -> None:
        at = _place(url)
        super().__init__(f"{at.scheme}://{at.hostname}:{at.port or PORTS[at.scheme]}/{topic}", **settings)
        self._mqtt = needed("paho.mqtt.client", "An MQTT topic", "mqtt")
        self.topic, self.keep = topic, whole(keep, "keep", "MqttTopic", 1)
        self._kept = journal is not None
        self._journal = Journal(journal, AT_ONCE)
        self._had_session = self._expect_all()
        self._seen = deque(self._journal.newest(), AT_ONCE)  # messages that the broker may send again
        self._read = self._journal.settled  # number of the last message returned
        self._written: deque[tuple[int, Received]] = deque()  # the next messages in the journal
        self._received = self._taken = 0  # bytes received from the broker, and bytes taken by this thread
        self._dropped, self._told = 0, 0  # number of dropped messages, now and in the last notice
        self._held: deque[int] = deque(maxlen=self.keep)  # positions of the last checkpoints
        self._came: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._unwritten: list[Any] = []  # received messages that are not in the journal yet
        self._subscribed = threading.Event()
        self._refusal: str | None = None
        self._client = self._connected(at)
        self._heard = time.monotonic()

    def _expect_all(self) -> bool:
        """Report messages that a damaged journal has lost; the broker does not resend these messages.

        Return whether the journal has been used before. Raise an error if it was used for another topic.
        """
        try:
            known = self._journal.topic
            if known not in {None, self.topic}:
                rule = f"{known!r}, the topic of the journal {self._journal.path}"
                raise ParameterError.of("topic", "MqttTopic", rule, self.topic)
            if known is None:
                self._journal.belong_to(self.topic)
            if self._journal.lost:
                self._tell_gap(self._journal.lost, f"message {self._journal.last} of its journal")
                self._journal.go_on()
        except HerosError:
            self._journal.close()
            raise
        return known is not None

    def _bring(self, most: int, wait: float) -> Rows:
        self._fill()
        if not self._written:
            if self._refusal is not None:
                raise self._trouble(self._refusal)
            self._take(self._wait(wait))
            self._fill()
        given = [self._written.popleft() for _ in range(min(most, len(self._written)))]
        if given:
            self._read = given[-1][0]
            if not self._kept:  # the messages are not needed again
                self._journal.settle(self._read, self._read)
        return [(self.decoded(one.payload), {"sequence": sequence}) for sequence, one in given]

    def _fill(self) -> None:
        """Read only the next messages from the journal, because the whole journal may not fit into memory."""
        if not self._written:
            self._written.extend(self._journal.after(self._read, AT_ONCE))

    def hold(self) -> None:
        """Write received messages to the journal, because a broker stores a limited number of messages."""
        if self._refusal is None:
            self._take(self._wait(0.0))

    def _at_end(self) -> bool:
        return time.monotonic() - self._heard >= QUIET

    def _wait(self, timeout: float) -> list[Any]:
        """Return the messages that have arrived; wait at most `timeout` seconds for the first."""
        try:
            first = self._came.get(timeout=timeout)
        except queue.Empty:
            return []
        self._heard = time.monotonic()
        messages = [first, *(self._came.get() for _ in range(self._came.qsize()))]
        self._taken += sum(map(_bytes_of, messages))
        if self._dropped >= max(1, 10 * self._told):
            self._told = self._dropped
            why = f"{self._told:,} messages with quality of service 0 were dropped"
            notice(f"{self.name}: {why}, because they arrive faster than models are trained.", DataNotice)
        return messages

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        """Store a message for the reading thread. This method is called in the connection thread."""
        if message.qos == 0 and self._received - self._taken > MOST_BYTES:
            self._dropped += 1
            return
        self._received += _bytes_of(message)
        self._came.put(message)

    def _take(self, messages: Sequence[Any]) -> None:
        """Write new messages to the journal, then acknowledge all messages."""
        self._unwritten += messages
        seen, fresh = self._seen.copy(), []
        for message in self._unwritten:
            if message is None:
                seen.clear()
                lost_session, self._had_session = self._had_session, True
                if lost_session:
                    why = "the broker has discarded the session of this client"
                    what = "Messages that arrived while there was no connection are lost"
                    notice(f"{self.name}: {why}. {what}.", DataNotice)
                continue
            one = Received(message.mid, message.topic, bytes(message.payload))
            if not (message.dup and one in seen):
                fresh.append(one)
                seen.append(one)
        self._journal.append(fresh)
        messages, self._unwritten, self._seen = self._unwritten, [], seen
        for message in filter(None, messages):
            self._client.ack(message.mid, message.qos)

    def go_to(self, position: Mapping[str, Any]) -> None:
        """Continue after the message with this number in the journal."""
        self._read = self._sequence(position, "a number in its journal")
        self._written.clear()
        self._fill()

    def acknowledge(self, where: Mapping[str, Any]) -> None:
        """Trim the journal to the messages that the last checkpoints need."""
        sequence = where["position"].get("sequence")
        if sequence is not None:
            self._held.append(sequence)
            self._journal.settle(sequence, self._held[0] if len(self._held) == self.keep else 0)

    def close(self) -> None:
        """Disconnect from the broker and close the journal."""
        self._client.disconnect()
        self._client.loop_stop()
        self._journal.close()

    # -- the connection -----------------------------------------------------------------------------------

    def _connected(self, at: SplitResult) -> Any:
        """Return a connected and subscribed client, which reconnects in a background thread."""
        mqtt = self._mqtt
        client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2, self._journal.reader, protocol=mqtt.MQTTv5, manual_ack=True
        )
        if at.username:
            client.username_pw_set(unquote(at.username), unquote(at.password or ""))
        if at.scheme == "mqtts":
            client.tls_set()
        client.on_connect, client.on_subscribe = self._on_connect, self._on_subscribe
        client.on_message = self._on_message
        properties = needed("paho.mqtt.properties", "An MQTT topic", "mqtt")
        kinds = needed("paho.mqtt.packettypes", "An MQTT topic", "mqtt").PacketTypes
        asked = properties.Properties(kinds.CONNECT)
        asked.ReceiveMaximum = AT_ONCE
        asked.SessionExpiryInterval = 0xFFFFFFFF if self._kept else 0  # the session expires never, or at once
        port = at.port or PORTS[at.scheme]
        try:
            client.connect(at.hostname, port, clean_start=not self._kept, properties=asked)
        except (OSError, ValueError) as error:
            raise self._trouble(error) from None
        client.loop_start()
        if not self._subscribed.wait(PATIENCE) or self._refusal is not None:
            client.disconnect()
            client.loop_stop()
            raise self._trouble(self._refusal or f"no response for {PATIENCE:g} seconds")
        return client

    def _on_connect(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        """Subscribe after each connection or reconnection."""
        if reason.is_failure:
            self._refuse(str(reason))
            return
        if not flags.session_present:  # the broker restarts its message ids
            self._came.put(None)
        options = needed("paho.mqtt.subscribeoptions", "An MQTT topic", "mqtt").SubscribeOptions
        once = options.RETAIN_SEND_IF_NEW_SUB
        try:
            client.subscribe(self.topic, options=options(qos=1, retainHandling=once))
        except ValueError as error:  # the topic is not a valid filter; stored for the thread that reads
            self._refuse(f"the topic is not a valid filter ({error})")

    def _on_subscribe(self, client: Any, data: Any, mid: int, reasons: Any, properties: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            self._refuse(f"the broker refused the subscription ({reasons[0]})")
        self._subscribed.set()

    def _refuse(self, why: str) -> None:
        self._refusal = why
        self._subscribed.set()


def _place(url: str) -> SplitResult:
    expect_servers(url, "url", "MqttTopic", "mqtt://host:1883")
    at = urlsplit(url)
    if at.scheme not in PORTS or not at.hostname or "," in at.netloc:
        raise ParameterError.of(
            "url", "MqttTopic", "an address such as mqtt://host:1883 or mqtts://host:8883", url
        )
    return at


def _bytes_of(message: Any) -> int:
    """Return the approximate memory size of a received message; None stands for a new session."""
    return 0 if message is None else 4000 + len(message.payload)
