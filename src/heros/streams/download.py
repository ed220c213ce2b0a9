"""One file over HTTPS: with a progress bar, whole or not at all, and never more of it than it may be."""

from __future__ import annotations

import os
from email.message import Message
from pathlib import Path
from typing import IO, Any

from heros._base.progress import progress
from heros.errors import DataError
from heros.storage.disk import Output

__all__ = ["fetch"]

PIECE = 1 << 16
TIMEOUT = 30.0


def fetch(url: str, path: Path, title: str, most: int = 1 << 30) -> None:
    """Download `url`, of at most so many bytes, to `path`.

    Raises DataError, in one sentence, if the server cannot be reached, answers with an error, sends more, or
    ends before the file does, and if it sends elsewhere without encryption from where there was one. `path`
    may then hold part of the file.
    """
    import http.client  # noqa: PLC0415  few ever download, and these take long to import
    import urllib.error  # noqa: PLC0415
    import urllib.request  # noqa: PLC0415

    try:
        request = urllib.request.Request(url, headers={"User-Agent": "heros"})
        with _opener(url).open(request, timeout=TIMEOUT) as answer, progress("bytes") as bar:
            total = _length(url, answer.headers.get("Content-Length"))
            if total is not None and total > most:
                raise _too_long(url, most)
            task = bar.add_task(title, total=total)
            received = 0
            with Output(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)) as file:
                while piece := answer.read(PIECE):
                    received += len(piece)
                    if received > most:
                        raise _too_long(url, most)
                    file.write(piece)
                    bar.update(task, completed=received)
    except urllib.error.HTTPError as error:
        raise DataError(f"{url} answered with the error {error.code} ({error.reason}).") from None
    except urllib.error.URLError as error:
        raise DataError(f"{url} could not be reached ({error.reason}).") from None
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise DataError(f"{url} broke off ({type(error).__name__}: {error}).") from None
    if total is not None and received != total:
        raise DataError(f"{url} broke off after {received:,} of {total:,} bytes.")


def _opener(url: str) -> Any:
    """Opens addresses; a redirect that would give up encryption is not followed."""
    import urllib.request  # noqa: PLC0415

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(
            self, req: Any, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
        ) -> Any:
            if req.full_url.startswith("https:") and not newurl.startswith("https:"):
                raise DataError(f"{url} sent us to {newurl}, without encryption: not followed.")
            return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]

    return urllib.request.build_opener(Redirects)


def _length(url: str, announced: str | None) -> int | None:
    """How long the server says the answer is; None if it does not."""
    if announced is None:
        return None
    if not announced.strip().isdecimal():
        raise DataError(f"{url} answered with a length that is no number ({announced!r}).")
    return int(announced)


def _too_long(url: str, most: int) -> DataError:
    return DataError(f"{url} is longer than the {most:,} bytes it may have.")
