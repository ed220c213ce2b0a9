"""The service at an address: started, swept, and stopped with a checkpoint."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address

import uvicorn

from heros.errors import HerosError, ParameterError
from heros.serve.api import application
from heros.serve.express import express
from heros.serve.guard import sweep
from heros.serve.service import Service
from heros.serve.state import Picture
from heros.serve.wire import Wire

__all__ = ["Running", "serve"]

SWITCH = 0.0005  # seconds after which a thread lets another have its turn: an answer waits that long
SELDOM = (20_000, 20, 20)  # when garbage is collected: most of what waits to be learnt is none
BACKLOG = 2048
GRACE = 5  # seconds for requests at work when it is stopped


class Running(uvicorn.Server):
    """A server for one service.

    Parameters
    ----------
    service
        What is served. It is stopped with the server.
    host, port
        Where; port 0 takes any that is free.
    token
        What requests have to bring along; None: nothing, which only this machine may do.
    """

    def __init__(
        self, service: Service, *, host: str = "127.0.0.1", port: int = 8000, token: str | None = None
    ) -> None:
        if token is not None and not (token.isascii() and token.isprintable() and 8 <= len(token) <= 200):
            raise ParameterError.of("token", "serve", "8 to 200 characters of ASCII", "another")
        if token is None and not _is_this_machine(host):
            raise ParameterError.of("token", "serve", f"given where others may ask, as at {host}", None)
        self.service = service
        self.socket = _bound(host, port)
        self.picture = Picture(service)
        wire = Wire(service, self._other, token)
        self.requests = wire.requests
        self._views = application(service, self.picture, wire.requests, secured=token is not None)
        super().__init__(
            uvicorn.Config(
                wire,
                http=express(wire),
                ws="none",
                loop="auto",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=BACKLOG,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=GRACE,
            )
        )

    async def _other(self, *request: object) -> None:
        await self._views(*request)  # type: ignore[arg-type]

    @property
    def address(self) -> str:
        """Where it is served."""
        host, port = self.socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def work(self) -> None:
        """Serve until it is told to stop by SIGTERM, Ctrl-C or `should_exit`; then learn what is left."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        gc.collect()
        gc.freeze()  # what was imported stays: looking through it would keep everybody waiting
        often = gc.get_threshold()
        gc.set_threshold(*SELDOM)
        try:
            self.run(sockets=[self.socket])
        finally:
            sys.setswitchinterval(before)
            gc.set_threshold(*often)
            gc.unfreeze()
            self.socket.close()
            self.service.stop()

    async def main_loop(self) -> None:
        """Serve, and look after slow connections."""
        sweeping = asyncio.create_task(self._sweep())
        try:
            await super().main_loop()
        finally:
            sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await sweeping

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self.service.limits.seconds / 2))
            sweep(self.server_state.connections, self.service.limits)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGTERM and Ctrl-C, and be done with it: uvicorn would raise them once more."""
        if sys.platform == "win32" or not _is_main_thread():
            with super().capture_signals():
                yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {one: signal.signal(one, self.handle_exit) for one in signals}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def serve(
    service: Service,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    started: Callable[[str], object] = print,
) -> None:
    """Serve until SIGTERM or Ctrl-C; `started` is told the address."""
    try:
        running = Running(service, host=host, port=port, token=token)
    except BaseException:
        service.stop()
        raise
    started(running.address)
    running.work()


def _bound(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        try:
            if sys.platform != "win32":
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(BACKLOG)  # whoever is told the address may come before the server has begun
        except BaseException:
            bound.close()
            raise
    except (OSError, OverflowError) as error:
        raise HerosError(f"The address {host}:{port} must be free. Got: {error}.") from None
    return bound


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
