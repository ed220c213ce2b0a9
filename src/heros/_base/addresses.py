"""Validation of URLs, and their display without secrets."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

__all__ = ["WEB_ADDRESS", "is_web_address", "without_secrets"]

WEB_ADDRESS = "a URL with http:// or https://, without a user name"


def is_web_address(url: Any) -> bool:
    """Return whether this is an http(s) URL with a host, a valid port (if given) and no user name.

    Examples
    --------
    >>> is_web_address("https://grid.example/v1?key=k"), is_web_address("http://me:secret@grid.example")
    (True, False)
    """
    try:
        parts = urlsplit(url)
        whole = bool(parts.hostname) and parts.username is None and parts.port != 0
    except (AttributeError, TypeError, ValueError):  # not a string, or an invalid IPv6 address or port
        return False
    return whole and parts.scheme in ("http", "https")


def without_secrets(url: str) -> str:
    """Return a URL for messages and records, without user name, path and query, which may hold secrets.

    Examples
    --------
    >>> without_secrets("https://grid.example:8443/v1/latest?key=k"), without_secrets("http://grid.example")
    ('https://grid.example:8443/…', 'http://grid.example')
    """
    scheme, netloc, *rest = urlsplit(url)
    return f"{scheme}://{netloc.rpartition('@')[2]}{'/…' if any(rest) else ''}"
