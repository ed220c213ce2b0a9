"""Run a service at an address until it is stopped."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from ipaddress import ip_address

from heros._base.addresses import is_ip_address
from heros._base.errors import HerosError, ParameterError
from heros.serve.api import Api
from heros.serve.http import BACKLOG, Server
from heros.serve.service import Service

LOG = logging.getLogger("heros.serve")
SWITCH = 0.0005  # thread switch interval in seconds; a prediction may be delayed by this time
NAME = re.compile(r"[A-Za-z0-9._-]+")
SELDOM = (20_000, 20, 20)  # infrequent garbage collection: most new objects are queued instances, not garbage


class Running:
    """A server for one service; stopping the server stops the service.

    Parameters
    ----------
    service
        The service.
    host, port
        The address to listen on; port 0 selects a free port.
    token
        The token that requests must send. None means no token; this is allowed only for loopback addresses.
    allow_hosts
        Additional host names that clients may use, as for `heros.serve.api.Api`, without scheme and port.
    """

    def __init__(
        self,
        service: Service,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        token: str | None = None,
        allow_hosts: Iterable[str] = (),
    ) -> None:
        allow_hosts = [*allow_hosts]
        if token is not None and token != token.strip():
            blanks = "spaces or line breaks at its start or end"
            raise ParameterError.of(
                "token", "serve", "a string without spaces or line breaks at its start or end", blanks
            )
        if token is not None and not (token.isascii() and token.isprintable() and 8 <= len(token) <= 200):
            got = f"{len(token)} characters"
            raise ParameterError.of("token", "serve", "8 to 200 printable ASCII characters", got)
        for name in allow_hosts:
            if not (NAME.fullmatch(name) or is_ip_address(name)):
                rule = "a host name without scheme, port, path and spaces, such as models.example.org"
                raise ParameterError.of("allow_hosts", "serve", rule, name)
        if token is None and not _is_this_machine(host):
            raise ParameterError.of("token", "serve", f"given if other machines can reach {host}", None)
        self.service = service
        self.socket = _bound(host, port)
        self.api = Api(service, token, [host, socket.gethostname(), *allow_hosts])
        self.server = Server(self.api, self.socket, service.limits)
        self.started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False

    @property
    def address(self) -> str:
        """The URL of the service."""
        host, port = self.socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def work(self, started: Callable[[str], object] = lambda address: None) -> None:
        """Serve until SIGTERM, SIGHUP, Ctrl-C or a call to `stop`; then train on the queued instances.

        `started` is called once with the URL of the service, after the signal handlers are installed.
        From then on, no accepted instance is lost if a signal stops the service.
        """
        before, often = sys.getswitchinterval(), gc.get_threshold()
        sys.setswitchinterval(SWITCH)
        gc.collect()
        gc.freeze()  # imported modules are never freed; scanning them would delay all requests
        gc.set_threshold(*SELDOM)
        main = threading.current_thread() is threading.main_thread()
        signals = [signal.SIGINT, signal.SIGTERM] if main else []
        if main and sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signals.append(signal.SIGHUP)  # SIGHUP is ignored under nohup
        handlers = {one: signal.signal(one, lambda *_: self._stop_by_signal()) for one in signals}
        try:
            started(self.address)
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(self._serve())
        finally:
            sys.setswitchinterval(before)
            gc.set_threshold(*often)
            gc.unfreeze()
            self.socket.close()
            try:
                self.service.stop()
            finally:  # restored only now, because a second signal must not lose accepted instances
                for one, handler in handlers.items():
                    signal.signal(one, handler)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        if not self._stopped:
            await self.server.run(self.started.set)

    def _stop_by_signal(self) -> None:
        if self._stopped:
            LOG.warning(
                "Stopping: %d accepted instances have not been used for training yet", self.service.queued
            )
        self.stop()

    def stop(self) -> None:
        """Stop `work`. Any thread or a signal handler may call this method."""
        self._stopped = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.server.stop)


def serve(
    service: Service,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    allow_hosts: Iterable[str] = (),
    started: Callable[[str], object] = print,
) -> None:
    """Serve until SIGTERM or Ctrl-C; `started` is called once with the URL of the service."""
    try:
        running = Running(service, host=host, port=port, token=token, allow_hosts=allow_hosts)
    except BaseException:
        service.stop()
        raise
    running.work(started)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the event loop factory of uvloop, a faster event loop, or None if uvloop is not installed."""
    try:
        import uvloop  # noqa: PLC0415
    except ImportError:
        return None
    return uvloop.new_event_loop


def _bound(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        bound = socket.socket(family, kind, protocol)
        try:
            if sys.platform != "win32":
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(BACKLOG)  # a client may connect before the server has started
        except BaseException:
            bound.close()
            raise
    except (OSError, OverflowError) as error:
        raise HerosError(f"The address {host}:{port} cannot be used: {error}.") from None
    return bound


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
