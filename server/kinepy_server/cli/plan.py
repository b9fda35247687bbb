"""What `kinepy serve` is to do, decided before anything is done."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kinepy import Settings
from kinepy_server.auth.authorizer import MODES
from kinepy_server.auth.kubeconfig import is_loopback
from kinepy_server.cli.aggregation import Aggregation, make_aggregation
from kinepy_server.cli.places import database_url, is_memory
from kinepy_server.cli.problems import Problem
from kinepy_server.server_settings import ServerSettings

_HOST_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST_NAME = re.compile(rf"(\*\.)?{_HOST_LABEL}(\.{_HOST_LABEL})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything a server needs to know; made from options only."""

    data: Path
    database: str
    host: str
    port: int
    workers: int
    controllers: frozenset[str]
    insecure: bool
    tls_cert: Path | None
    tls_key: Path | None
    tls_san: Sequence[str]
    client_ca: Path | None
    token_file: Path | None
    authorization_mode: str
    advertise_url: str | None
    aggregation: Aggregation | None
    settings: Settings
    server_settings: ServerSettings


def make_plan(
    *,
    data: Path,
    database: str | None,
    listen: str,
    workers: int,
    controllers: str,
    insecure: bool,
    insecure_anywhere: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_san: Sequence[str] | None,
    client_ca: Path | None,
    token_file: Path | None,
    authorization_mode: str,
    advertise_url: str | None,
    retention: Sequence[str] | None,
    settings: Sequence[str] | None,
    **behind: Any,
) -> Plan:
    """Check the options against each other. `behind` are those of `make_aggregation`. Raises `Problem`."""
    host, port = split_address(listen)
    url = database_url(data, database)
    _check_insecure(host, insecure=insecure, anywhere=insecure_anywhere)
    if workers > 1 and is_memory(url):
        raise Problem("--workers needs a database that processes can share: use an SQLite file or PostgreSQL")
    if (tls_cert is None) != (tls_key is None):
        raise Problem("--tls-cert and --tls-key belong together: give both or neither")
    if authorization_mode not in MODES:
        raise Problem(f"there is no authorization mode {authorization_mode!r}: write {' or '.join(MODES)}")
    aggregation = make_aggregation(
        **behind, insecure=insecure, controllers=controllers, authorization_mode=authorization_mode
    )
    store_settings, server_settings = apply_settings(settings or ())
    store_settings = with_retention(store_settings, retention or ())
    if store_settings.witness_path is None:
        store_settings = replace(store_settings, witness_path=str(data / "witness"))
    return Plan(
        data=data,
        database=url,
        host=host,
        port=port,
        workers=workers,
        controllers=controller_names(controllers) if aggregation is None else frozenset(),
        insecure=insecure,
        tls_cert=tls_cert,
        tls_key=tls_key,
        tls_san=certificate_names(tls_san or ()),
        client_ca=client_ca,
        token_file=token_file,
        authorization_mode=authorization_mode,
        advertise_url=advertised(advertise_url) if advertise_url else None,
        aggregation=aggregation,
        settings=store_settings,
        server_settings=server_settings,
    )


def _check_insecure(host: str, *, insecure: bool, anywhere: bool) -> None:
    if insecure and not anywhere and not is_loopback(host):
        raise Problem(
            f"--insecure makes everybody admin, and {host} can be reached by others: "
            "listen on 127.0.0.1, or add --insecure-anywhere if that is what you want"
        )
    if anywhere and not insecure:
        raise Problem(
            "--insecure-anywhere says where --insecure is allowed: add --insecure, or leave it away"
        )


def advertised(url: str) -> str:
    """The URL for clients, when clients can use it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise Problem(f"{url!r} is no URL for clients: write https://HOST:PORT with --advertise-url")
    return url.rstrip("/")


def certificate_names(names: Sequence[str]) -> Sequence[str]:
    """The names and addresses, when a certificate can hold them."""
    for name in names:
        try:
            ip_address(name)
        except ValueError:
            if len(name) > 253 or not _HOST_NAME.fullmatch(name):
                raise Problem(
                    f"{name!r} is neither a host name nor an address: write such as kinepy.example.com or 10.0.0.7"
                    " with --tls-san"
                ) from None
    return names


def split_address(text: str) -> tuple[str, int]:
    """Host and port of `HOST:PORT`; IPv6 addresses in brackets. An empty host is every address."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise Problem(f"{text!r} is no address: write HOST:PORT, such as 127.0.0.1:6443 or [::1]:6443")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)


def controller_names(text: str) -> frozenset[str]:
    """The controllers that `all`, `none` or a list with commas names."""
    from kinepy_server.controllers import ALL_CONTROLLERS

    if text == "all":
        return ALL_CONTROLLERS
    names = frozenset(name.strip() for name in text.split(",") if name.strip()) - {"none"}
    for name in sorted(names):
        if name not in ALL_CONTROLLERS:
            raise Problem(
                f"there is no controller {name!r}: write all, none or some of {', '.join(sorted(ALL_CONTROLLERS))}"
            )
    return names


def apply_settings(assignments: Sequence[str]) -> tuple[Settings, ServerSettings]:
    """The settings with `NAME=VALUE` assignments applied; a name that both have is set in both."""
    store, server = Settings(), ServerSettings()
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise Problem(f"{assignment!r} is no setting: write NAME=VALUE")
        of_store, of_server = (name in {field.name for field in fields(kind)} for kind in (store, server))
        if not of_store and not of_server:
            raise Problem(f"there is no setting {name!r}: README lists them")
        try:
            if of_store:
                store = replace(store, **{name: _value(name, text, getattr(store, name))})
            if of_server:
                server = replace(server, **{name: _value(name, text, getattr(server, name))})
        except ValueError as error:
            raise Problem(f"setting {error}") from error
    return store, server


def with_retention(settings: Settings, rules: Sequence[str]) -> Settings:
    """The settings with further rules of retention. Raises `Problem`."""
    try:
        return replace(settings, retention=(*settings.retention, *rules))
    except ValueError as error:
        raise Problem(f"retention: {error}") from error


def _value(name: str, text: str, default: Any) -> Any:
    kind = str if default is None else type(default)
    if kind is tuple:
        return tuple(text.split())
    try:
        return kind(text)
    except ValueError as error:
        raise Problem(f"setting {name} is to be of type {kind.__name__}, not {text!r}") from error
