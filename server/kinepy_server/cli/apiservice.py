"""`kinepy apiservice`: the objects by which a host finds an aggregated server."""

import base64
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from kinepy.clock import SystemClock
from kinepy_server.cli.definitions import read_definitions
from kinepy_server.cli.places import ensure_folder
from kinepy_server.cli.problems import Problem

GROUP_PRIORITY: Final = 1000
VERSION_PRIORITY: Final = 100
"""Those that the original gives to the groups of custom resources."""


def api_services(data: Path, definitions: Sequence[Path], *, service: str, port: int) -> str:
    """The APIServices of all versions that definitions serve, as YAML. Raises `Problem`.

    The server's certificate gets the name by which the host calls it, if it is one of the own CA; a server that runs
    shows it after a restart, which is told on stderr.
    """
    namespace, slash, name = service.partition("/")
    if not slash or not namespace or not name or "/" in name:
        raise Problem(f"{service!r} names no Service: write NAMESPACE/NAME with --service")
    found = read_definitions(definitions)
    if not found:
        raise Problem("say which types the server has: give --definitions FILE or DIR")
    reference = {"namespace": namespace, "name": name, "port": port}
    ca = base64.b64encode(_authority(data, f"{name}.{namespace}.svc").encode()).decode()
    return yaml.safe_dump_all(
        (
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": f"{version}.{group}"},
                "spec": {
                    "group": group,
                    "version": version,
                    "groupPriorityMinimum": GROUP_PRIORITY,
                    "versionPriority": VERSION_PRIORITY,
                    "service": reference,
                    "caBundle": ca,
                },
            }
            for group, version in sorted(set(_served(found)))
        ),
        sort_keys=False,
    )


def _served(definitions: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for definition in definitions:
        try:
            for version in definition["spec"]["versions"]:
                if version.get("served"):
                    yield definition["spec"]["group"], version["name"]
        except (KeyError, TypeError, AttributeError):
            raise Problem(
                f"the definition {definition['metadata']['name']} has no group and versions"
            ) from None


def _authority(data: Path, name: str) -> str:
    from kinepy_server.auth.pki import ensure_pki, utc_now

    ensure_folder(data)
    chain = data / "pki" / "server.pem"
    before = chain.read_bytes() if chain.exists() else None
    files = ensure_pki(data / "pki", [name], now=utc_now(SystemClock().now_us()))
    if before is not None and files.chain.read_bytes() != before:
        # The host would call the server available, and refuse its certificate at each request.
        print(
            f"kinepy: the certificate in {data} holds {name} from now on: "
            "restart `kinepy serve` where it runs on this folder",
            file=sys.stderr,
        )
    return files.ca.read_text()
