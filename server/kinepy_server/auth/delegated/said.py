"""What the host says of whom to trust: its ConfigMap, followed but for what was given instead."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kinepy_server.auth.chains import BadTrust
from kinepy_server.auth.delegated.following import Follower, Json, Listener
from kinepy_server.auth.delegated.host import Host
from kinepy_server.auth.delegated.host_config import BadHostConfig
from kinepy_server.auth.delegated.trust import CLIENT_CA, RequestHeader, Trust, request_header_of

_log = logging.getLogger("kinepy.delegation")
CONFIGMAP: Final = "extension-apiserver-authentication"
CONFIGMAPS: Final = "/api/v1/namespaces/kube-system/configmaps"


@dataclass(frozen=True, slots=True)
class Said:
    """What was given; None where the host is to say it. The client CA is PEM."""

    request_header: RequestHeader | None
    client_ca: str | None

    def apply(self, trust: Trust) -> None:
        """Trust what was given. Raises `BadHostConfig`."""
        try:
            if self.request_header is not None:
                trust.follow_proxy(self.request_header)
            if self.client_ca is not None:
                trust.follow_clients(self.client_ca)
        except BadTrust as error:
            raise BadHostConfig(f"the CAs that are given cannot be used: {error}") from error

    def learn(self, trust: Trust, configmap: Json) -> None:
        """Trust what the host says of the rest. What cannot be used is told, and what was said before holds."""
        data = configmap.get("data") or {}
        if self.request_header is None:
            _follow(lambda: trust.follow_proxy(request_header_of(data)))
        if self.client_ca is None:
            _follow(lambda: trust.follow_clients(data.get(CLIENT_CA, "")))


def _follow(learn: Callable[[], None]) -> None:
    try:
        learn()
    except BadTrust as error:
        _log.error("the ConfigMap %s of the host is not followed: %s", CONFIGMAP, error)


def trust_followers(host: Host, trust: Trust, said: Said) -> Sequence[Follower]:
    """Those that keep `trust` as the host has it. Raises `BadHostConfig`."""
    said.apply(trust)
    if said.request_header is not None and said.client_ca is not None:
        return ()

    def learn(configmap: Json) -> None:
        said.learn(trust, configmap)

    def learn_all(found: Iterable[Json]) -> None:
        configmaps = list(found)
        for one in configmaps:
            learn(one)
        if not configmaps:
            _log.warning("the host has no ConfigMap kube-system/%s: only tokens are taken", CONFIGMAP)

    # What is gone stays trusted, as in the original: a ConfigMap that is made anew is no reason to be away.
    listener = Listener(state=learn_all, changed=learn, gone=lambda _: None)
    return [Follower(host, CONFIGMAPS, listener, selector=f"metadata.name={CONFIGMAP}")]
