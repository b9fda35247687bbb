"""The webhooks and policies of the host: they judge what is written here too, which the host itself does not see."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import orjson

from kinepy import KeyValue, Revision
from kinepy_server.auth.delegated.following import Follower, Json, Listener
from kinepy_server.auth.delegated.host import Host
from kinepy_server.dynamic_admission import extensions as e
from kinepy_server.dynamic_admission.extensions import Extensions

ROOT: Final = "/apis/admissionregistration.k8s.io/v1"
PLURALS: Final[Mapping[bytes, str]] = {
    e.MUTATING: "mutatingwebhookconfigurations",
    e.VALIDATING: "validatingwebhookconfigurations",
    e.POLICIES: "validatingadmissionpolicies",
    e.BINDINGS: "validatingadmissionpolicybindings",
    e.MUTATING_POLICIES: "mutatingadmissionpolicies",
    e.MUTATING_BINDINGS: "mutatingadmissionpolicybindings",
}
"""Where they are found, by the prefix under which a server of its own would keep them."""


class HostExtensions:
    """Keeps what writes know of them as the host has it."""

    def __init__(self, extensions: Extensions) -> None:
        self._extensions = extensions
        self._objects: dict[bytes, KeyValue] = {}

    def followers(self, host: Host) -> Sequence[Follower]:
        """Those that do it."""
        return [
            Follower(host, f"{ROOT}/{plural}", self._listener(prefix)) for prefix, plural in PLURALS.items()
        ]

    def _listener(self, prefix: bytes) -> Listener:
        def reset(found: Iterable[Json]) -> None:
            for key in [key for key in self._objects if key.startswith(prefix)]:
                del self._objects[key]
            self._objects.update((kv.key, kv) for kv in (_stored(prefix, one) for one in found))
            self._publish()

        def learn(obj: Json) -> None:
            kv = _stored(prefix, obj)
            self._objects[kv.key] = kv
            self._publish()

        def forget(obj: Json) -> None:
            self._objects.pop(_stored(prefix, obj).key, None)
            self._publish()

        return Listener(state=reset, changed=learn, gone=forget)

    def _publish(self) -> None:
        objects = self._objects.values()
        if not objects:
            self._extensions.configuration = None
            return
        # Where there are none, nobody should wait for the language of these.
        from kinepy_server.dynamic_admission.configuration import Configuration

        self._extensions.configuration = Configuration(objects)


def _stored(prefix: bytes, obj: Json) -> KeyValue:
    key = prefix + str(obj["metadata"]["name"]).encode()
    return KeyValue(key, orjson.dumps(obj), Revision(0), Revision(0), 0)
