"""The webhooks and policies of the host: they judge what is written here too, which the host itself does not see."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import orjson

from kinepy import KeyValue, Revision
from kinepy_server.auth.delegated.following import Follower, Json, Listener
from kinepy_server.auth.delegated.host import Host
from kinepy_server.dynamic_admission import extensions as e
from kinepy_server.dynamic_admission.extensions import Extensions

if TYPE_CHECKING:
    from kinepy_server.dynamic_admission.configuration import Compiled

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
        self._changes = 0
        self._compiled: Compiled | None = None

    def followers(self, host: Host) -> Sequence[Follower]:
        """Those that do it."""
        return [
            Follower(host, f"{ROOT}/{plural}", self.listener(prefix)) for prefix, plural in PLURALS.items()
        ]

    def listener(self, prefix: bytes) -> Listener:
        """Hears of those under a prefix."""

        def reset(found: Iterable[Json]) -> None:
            there = {_key(prefix, one): one for one in found}
            for key in [key for key in self._objects if key.startswith(prefix) and key not in there]:
                del self._objects[key]
            for key, obj in there.items():
                self._keep(key, obj)
            self._publish()

        def learn(obj: Json) -> None:
            self._keep(_key(prefix, obj), obj)
            self._publish()

        def forget(obj: Json) -> None:
            self._objects.pop(_key(prefix, obj), None)
            self._publish()

        return Listener(state=reset, changed=learn, gone=forget)

    def _keep(self, key: bytes, obj: Json) -> None:
        value, known = orjson.dumps(obj), self._objects.get(key)
        if known is None or known.value != value:
            # The host's versions are its own affair: here what has changed only needs another one.
            self._changes += 1
            self._objects[key] = KeyValue(key, value, Revision(1), Revision(self._changes), 1)

    def _publish(self) -> None:
        objects = self._objects.values()
        if not objects:
            self._extensions.configuration = self._compiled = None
            return
        # Where there are none, nobody should wait for the language of these.
        from kinepy_server.dynamic_admission.configuration import Compiled, Configuration

        if self._compiled is None:
            self._compiled = Compiled()
        self._compiled.bytes_to_come(objects)
        self._extensions.configuration = Configuration(objects, self._compiled)


def _key(prefix: bytes, obj: Json) -> bytes:
    return prefix + str(obj["metadata"]["name"]).encode()
