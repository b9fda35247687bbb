"""What a server that runs on a data folder says of itself, asked the way its clients would."""

import base64
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final

import yaml

from kinepy_server.tls_client import client_tls

PATIENCE_S: Final = 3.0
BATCHES: Final = "kinepy_commit_batch_writes"
STORE: Final = "kinepy_store_info"

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The process that answered: one of several with `--workers` or replicas."""

    url: str
    figures: Figures
    """by the name of the sample; those with labels are left out"""
    batch_buckets: tuple[tuple[float, float], ...]
    """how many commit batches had at most so many writes, by rising size"""
    store_id: str = ""
    """the store that it serves; empty when it could not tell"""

    def figure(self, name: str) -> int | None:
        """One figure, if the server has it."""
        value = self.figures.get(name)
        return None if value is None else int(value)

    def batch_size(self, share: float) -> float | None:
        """A size that this share of the commit batches does not exceed, as near as the buckets tell."""
        if not self.batch_buckets or not self.batch_buckets[-1][1]:
            return None
        aim = share * self.batch_buckets[-1][1]
        return next(size for size, count in self.batch_buckets if count >= aim)


def running_server(data: Path, store_id: str) -> RunningServer | None:
    """The server that was started on a data folder, if it serves this store; None when none answers."""
    server = _server_of(data)
    return server if server is not None and server.store_id == store_id else None


def _server_of(data: Path) -> RunningServer | None:
    try:
        cluster, token = _address(data)
    except (OSError, yaml.YAMLError, KeyError, TypeError, IndexError):
        return None
    url = str(cluster["server"])
    request = urllib.request.Request(f"{url}/metrics")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    handlers: list[Any] = [urllib.request.ProxyHandler({})]
    try:
        if "certificate-authority-data" in cluster:
            ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
            handlers.append(urllib.request.HTTPSHandler(context=client_tls(ca)))
        with urllib.request.build_opener(*handlers).open(request, timeout=PATIENCE_S) as answer:
            return _parsed(url, answer.read().decode())
    except (OSError, HTTPException, ValueError):
        return None


def _address(data: Path) -> tuple[dict[str, Any], str]:
    """How to reach the server, from the kubeconfig that it wrote."""
    config = yaml.safe_load((data / "kubeconfig").read_text())
    return config["clusters"][0]["cluster"], config["users"][0]["user"].get("token", "")


def _parsed(url: str, text: str) -> RunningServer:
    """Raises ValueError for what is no text of metrics."""
    from prometheus_client.parser import text_string_to_metric_families

    figures: dict[str, float] = {}
    buckets: list[tuple[float, float]] = []
    store_id = ""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if not sample.labels:
                figures[sample.name] = sample.value
            elif sample.name == f"{BATCHES}_bucket":
                buckets.append((float(sample.labels["le"]), sample.value))
            elif sample.name == STORE:
                store_id = sample.labels["store_id"]
    return RunningServer(url, figures, tuple(sorted(buckets)), store_id)
