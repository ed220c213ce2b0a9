"""One file over HTTPS: with a progress bar, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from heros.errors import DataError
from heros.progress import progress

__all__ = ["fetch"]

PIECE = 1 << 16
TIMEOUT = 30.0


def fetch(url: str, path: Path, title: str) -> None:
    """Download `url` to `path`.

    Raises DataError, in one sentence, if the server cannot be reached, answers with an error or ends before
    the file does. `path` may then hold part of the file.
    """
    import http.client  # noqa: PLC0415  few ever download, and these take long to import
    import urllib.error  # noqa: PLC0415
    import urllib.request  # noqa: PLC0415

    request = urllib.request.Request(url, headers={"User-Agent": "heros"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer, progress("bytes") as bar:
            announced = answer.headers.get("Content-Length")
            total = int(announced) if announced else None
            task = bar.add_task(title, total=total)
            received = 0
            with path.open("wb") as file:
                while piece := answer.read(PIECE):
                    file.write(piece)
                    received += len(piece)
                    bar.update(task, completed=received)
    except urllib.error.HTTPError as error:
        raise DataError(f"{url} answered with the error {error.code} ({error.reason}).") from None
    except urllib.error.URLError as error:
        raise DataError(f"{url} could not be reached ({error.reason}).") from None
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise DataError(f"{url} broke off ({type(error).__name__}: {error}).") from None
    if total is not None and received != total:
        raise DataError(f"{url} broke off after {received:,} of {total:,} bytes.")
