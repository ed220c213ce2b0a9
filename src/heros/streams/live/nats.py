"""NATS JetStream subjects as sources."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any

from heros._base.addresses import expect_servers
from heros._base.errors import DataNotice, HerosError
from heros._base.extras import needed
from heros._base.notices import notice
from heros.streams.live.messages import MessageSource, Rows, without_password

__all__ = ["JetStream"]

NOT_REACHED = ("OSError", "TimeoutError", "NoServersError")
ADVICE = {
    ("NotFoundError",): "Create a stream that stores this subject, or correct the subject",
    ("ServiceUnavailableError", "NoRespondersError", "NoStreamResponseError"): (
        "Start the server with JetStream (nats-server -js)"
    ),
    ("AuthorizationError", "InvalidUserCredentialsError"): (
        "Give a valid user name and password: nats://user:password@host:4222"
    ),
    NOT_REACHED: "Start the server, or correct the address",
}
"""Advice for the errors of the client library, by the names of the error classes."""


class JetStream(MessageSource):
    """A source of the messages of a JetStream subject, in order.

    The position is the sequence number in the stream, and the time at which the stream was created.
    Checkpoints store both. The server stores no state for this consumer. If the server is away, reading
    continues when it is back, and a `DataNotice` says so.

    If the stream has a limit of messages per subject and stores several subjects, lost messages cannot be
    counted. A `DataNotice` says so.

    Parameters
    ----------
    url
        The address of the server, e.g. ``nats://localhost:4222``.
    subject
        The subject, which a stream of the server must store.
    **settings
        As for `heros.streams.live.messages.MessageSource`.
    """

    kind = "JetStream"

    def __init__(self, url: str, subject: str, **settings: Any) -> None:
        expect_servers(url, "url", "JetStream", "nats://host:4222")
        super().__init__(f"{without_password(url)}/{subject}", **settings)
        self._nats = needed("nats", "A JetStream", "nats")
        self._api = needed("nats.js.api", "A JetStream", "nats")
        self._not_found = needed("nats.js.errors", "A JetStream", "nats").NotFoundError
        self.url, self.subject = url, subject
        self._subscription: Any = None
        self._last = 0  # the sequence number of the message returned last
        self._created: str | None = None  # the time at which the stream was created
        self._received = 0  # number of messages received from the current subscription
        self._reconnects = 0  # number of reconnections when the subscription began
        self._is_away = self._told_limit = False  # whether a notice has said so
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"heros {self.name}", daemon=True)
        self._thread.start()
        try:
            self._connection = self._do(self._connected())
            self._stream = self._connection.jetstream()
        except BaseException:
            self._stop()
            raise

    def _bring(self, most: int, wait: float) -> Rows:
        if self._subscription is None or self._connection.stats["reconnects"] != self._reconnects:
            stream = self._do(self._about())
            self._expect_no_gap(stream)
            self._tell_limit(stream.config)
            self._subscription = self._do(self._subscribed())
        try:
            got = self._do(self._subscription.fetch(min(most, 500), timeout=max(0.02, wait)), waiting=True)
        except TimeoutError:
            if self._connection.is_connected:
                with suppress(HerosError):  # the server may not be ready yet
                    self._consumer()
            elif not self._is_away:
                self._is_away = True
                notice(
                    f"{self.name}: The connection is lost. HEROS tries to connect again until it succeeds.",
                    DataNotice,
                )
            return []
        self._is_away = False
        rows: list[tuple[Any, dict[str, Any]]] = []
        about: Any = None
        for one in got:
            sequence = one.metadata.sequence
            if sequence.consumer != self._received + 1:  # messages were lost on the way: read them again
                self._subscription = None
                break
            if sequence.stream > self._last + 1 and self._last:
                about = self._do(self._about()) if about is None else about
                self._expect_no_gap(about, sequence.stream)
            self._received, self._last = sequence.consumer, sequence.stream
            position = {"sequence": sequence.stream, "created": self._created}
            rows.append((self.decoded(one.data), position))
        return rows

    def _at_end(self) -> bool:
        about = None if self._subscription is None else self._consumer()
        return about is not None and int(about.num_pending) == 0

    def _consumer(self) -> Any:
        """Return the state of the consumer; None if a new subscription must request the messages again."""
        about = self._do(self._known_consumer())
        # The server removes an idle consumer. If messages were lost on the way, request them again.
        if about is None or about.delivered.consumer_seq > self._received:
            self._subscription = about = None
        return about

    async def _known_consumer(self) -> Any:
        try:
            return await self._subscription.consumer_info()
        except self._not_found:
            return None

    async def _connected(self) -> Any:
        """Connect to the server. Fail at once if it is unreachable, but reconnect after a later failure."""
        once: dict[str, Any] = {
            "allow_reconnect": False,
            "max_reconnect_attempts": 1,
            "reconnect_time_wait": 0.1,
            "error_cb": _ignore,  # by default, the client also logs the error with a traceback
        }
        probe = await self._nats.connect(self.url, connect_timeout=5, **once)
        await probe.close()
        return await self._nats.connect(self.url, max_reconnect_attempts=-1, error_cb=_ignore)

    async def _subscribed(self) -> Any:
        """Subscribe with a temporary consumer from the current position.

        The server does not resend messages by itself. If messages were sent to a broken connection, a new
        subscription must request these messages again.
        """
        self._received, self._reconnects = 0, self._connection.stats["reconnects"]
        config = self._api.ConsumerConfig(
            deliver_policy=self._api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._last + 1,
            ack_policy=self._api.AckPolicy.NONE,
            inactive_threshold=60.0,
        )
        return await self._stream.pull_subscribe(self.subject, config=config)

    async def _about(self) -> Any:
        """Return the description of the stream."""
        return await self._stream.stream_info(await self._stream.find_stream_name_by_subject(self.subject))

    def _tell_limit(self, config: Any) -> None:
        """Issue one notice that messages may be deleted in a way that is not recognised as a gap."""
        most = config.max_msgs_per_subject or 0
        is_single = config.subjects == [self.subject] and not {"*", ">"} & {*self.subject}
        if most > 0 and not is_single and not self._told_limit:
            self._told_limit = True
            rule = f"The stream keeps at most {most:,} messages per subject (max_msgs_per_subject)"
            notice(f"{self.name}: {rule}. Messages deleted before they are read are not counted.", DataNotice)

    def _expect_no_gap(self, about: Any, received: int | None = None) -> None:
        """Report a gap if messages after `_last` were deleted; `received` is the next message number."""
        state, created = about.state, None if about.created is None else about.created.isoformat()
        first = state.first_seq if received is None else min(state.first_seq, received)
        if self._last and (state.last_seq < self._last or self._created not in {None, created}):
            self._tell_gap(None, f"message {self._last}")
            self._last = 0
        elif self._last and first > self._last + 1:
            self._tell_gap(first - self._last - 1, f"message {self._last}")
            self._last = first - 1
        self._created = created

    def go_to(self, position: Mapping[str, Any]) -> None:
        """Continue after the message with this sequence number."""
        self._last, self._subscription = self._sequence(position, "a sequence number"), None
        self._created = position.get("created")

    def close(self) -> None:
        """Close the connection."""
        if self._loop.is_running():
            with suppress(HerosError):  # the connection may already be lost
                self._do(self._connection.close())
            self._stop()

    def _stop(self) -> None:
        asyncio.run_coroutine_threadsafe(_cancelled(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[Any, Any, Any], *, waiting: bool = False) -> Any:
        """Run a coroutine in the thread of the connection; convert its errors to a HerosError.

        With `waiting`, a `TimeoutError` is not converted.
        """
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except (OSError, TimeoutError, self._nats.errors.Error) as error:
            if waiting and isinstance(error, TimeoutError):
                raise
            raise self._trouble(f"{error!r}. {_advice(error)}") from None


async def _cancelled() -> None:
    """Cancel the other tasks of the event loop, which a lost connection leaves behind."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _ignore(error: Exception) -> None:
    """Do nothing."""


def _advice(error: Exception) -> str:
    """Return advice for an error."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return next((text for names, text in ADVICE.items() if kinds & {*names}), ADVICE[NOT_REACHED])
