"""Where a webhook may be: the original's rules of a clientConfig's address and Service. Pure."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from kinepy_server.objects.names import RULES
from kinepy_server.resources.checks.causes import Path, invalid, required
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.keys import quoted

EXACTLY_ONE = "exactly one of url or service is required"
_FORM = "; desired format: https://host[/path]"
_PORT_MAX = 65535
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PORT = re.compile(r"(:[0-9]*)?", re.ASCII)


def client_errors(client: Any, path: Path) -> Iterator[FieldError]:
    """What is wrong with where a clientConfig at `path` leads to."""
    url, service = client.get("url"), client.get("service")
    if url is not None and service is None:
        yield from _url(url, (path, "url"))
    elif service is not None and url is None:
        yield from _service(service, (path, "service"))
    else:
        yield required(path, EXACTLY_ONE)


def _url(text: str, path: Path) -> Iterator[FieldError]:
    problem = _unparsable(text)
    if problem:
        yield required(path, f"url must be a valid URL: {problem}{_FORM}")
        return
    url = urlsplit(text)
    user, at, host = url.netloc.rpartition("@")
    if url.scheme != "https":
        yield invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        yield invalid(path, host, f"host must be provided{_FORM}")
    if at:
        yield invalid(path, user, "user information is not permitted in the URL")
    if url.fragment:
        yield invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid(path, url.query, "query parameters are not permitted in the URL")


def _unparsable(text: str) -> str:
    """Why a text is no URL at all; empty when it is one."""
    if _CONTROL.search(text):
        # Python's parser would drop some of them, and take what is left for the address.
        return f"parse {quoted(text)}: net/url: invalid control character in URL"
    try:
        host = urlsplit(text).netloc.rpartition("@")[2]
    except ValueError as error:
        return str(error)
    last = host.rfind(":")
    port = host.rpartition("]")[2] if host.startswith("[") else host[last:] if last >= 0 else ""
    if not _PORT.fullmatch(port):
        return f'parse {quoted(text)}: invalid port "{port}" after host'
    return ""


def _service(service: JsonObject, path: Path) -> Iterator[FieldError]:
    # The original takes the one for the other here.
    for told, member in (("name", "namespace"), ("namespace", "name")):
        if not service.get(member):
            yield required((path, told), f"service {told} is required")
    port = service.get("port", 443)
    if not 1 <= port <= _PORT_MAX:
        yield invalid(
            (path, "port"), port, f"port is not valid: must be between 1 and {_PORT_MAX}, inclusive"
        )
    text = service.get("path")
    if text and text != "/":
        yield from _path(text, (path, "path"))


def _path(text: str, path: Path) -> Iterator[FieldError]:
    if text == "//":
        yield invalid(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid(path, text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        problems = RULES["dnsSubdomain"](step) if step else ()
        if not step:
            yield invalid(path, text, f"segment[{index}] may not be empty")
        for problem in problems:
            yield invalid(path, text, f"segment[{index}]: {problem}")
