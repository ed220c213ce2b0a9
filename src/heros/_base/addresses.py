"""Validation of URLs, and their display without secrets."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from heros._base.errors import ParameterError

WEB_ADDRESS = "a URL with http:// or https://, without a user name"


def is_web_address(url: Any) -> bool:
    """Return whether this is an http(s) URL with a host, a valid port (if given) and no user name."""
    try:
        parts = urlsplit(url)
        whole = bool(parts.hostname) and parts.username is None and parts.port != 0
    except (AttributeError, TypeError, ValueError):  # the URL is no string, or its host or port is invalid
        return False
    return whole and parts.scheme in ("http", "https")


def is_ip_address(host: str) -> bool:
    """Return whether a host is an IP address, rather than a name.

    Examples
    --------
    >>> is_ip_address("::1"), is_ip_address("localhost")
    (True, False)
    """
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


HOST = re.compile(r"(\[[^\[\]@]+\]|[^:\[\]\s]*)(:(?P<port>[0-9]{1,5}))?")


def expect_servers(servers: Any, name: str, owner: str, example: str) -> str:
    """Return the given server addresses (separated by commas); raise an error if an address is invalid.

    Examples
    --------
    >>> expect_servers("a:9092,b:9092", "servers", "Me", "host:9092")
    'a:9092,b:9092'
    >>> expect_servers("nats://host:first", "url", "Me", "nats://host:4222")
    Traceback (most recent call last):
        ...
    heros.ParameterError: The 'url' parameter of Me must be an address like nats://host:4222, with a port in
    [1, 65535]. Got 'nats://host:first' instead.
    """
    rule = f"an address like {example}, with a port in [1, 65535]"
    if not isinstance(servers, str) or not servers.strip(", "):
        raise ParameterError.of(name, owner, rule, servers)
    for one in servers.split(","):
        host = one.rpartition("://")[2].partition("/")[0].rpartition("@")[2].strip()
        found = HOST.fullmatch(host)
        if found is None or not 0 < int(found["port"] or 1) < 1 << 16:
            raise ParameterError.of(name, owner, rule, re.sub(r"[^/,]*@", "", servers))
    return servers


def without_secrets(url: str) -> str:
    """Return a URL for messages and records, without the user name, path and query, which may be secret."""
    scheme, netloc, *rest = urlsplit(url)
    return f"{scheme}://{netloc.rpartition('@')[2]}{'/…' if any(rest) else ''}"
