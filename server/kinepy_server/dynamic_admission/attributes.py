"""One write, as policies and webhooks see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kinepy_server.auth.user import User
from kinepy_server.resources.resource import JsonObject, Resource

Json = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Attributes:
    """What is written. `new` is None for a delete, `old` for a create."""

    operation: str
    resource: Resource
    subresource: str
    namespace: str
    name: str
    user: User
    new: JsonObject | None
    old: JsonObject | None
    options: Json = field(default_factory=dict)
    dry_run: bool = False
    asked: Resource | None = None
    """The resource of the request, if this is the write as it looks in another version."""
    kind: tuple[str, str, str] | None = None
    """Group, version and kind of what is written, if it is no object of the resource itself, such as a Scale."""
    schema: str = ""
    """The schema of what is written, if it is no object of the resource itself."""

    def request(self, uid: str = "") -> Json:
        """The members of an AdmissionReview's request that do not hold objects."""
        kind, place = self._named(self.resource)
        request_kind, request_place = self._named(self.asked or self.resource)
        found: Json = {"uid": uid, "kind": kind, "resource": place}
        if self.subresource:
            found["subResource"] = self.subresource
        found |= {"requestKind": request_kind, "requestResource": request_place}
        if self.subresource:
            found["requestSubResource"] = self.subresource
        found |= {"name": self.name} if self.name else {}
        found |= {"namespace": self.namespace} if self.namespace else {}
        found |= {"operation": self.operation, "userInfo": _user_info(self.user)}
        return found | {"dryRun": self.dry_run, "options": self.options or None}

    def _named(self, resource: Resource) -> tuple[Json, Json]:
        group, version, kind = self.kind or (resource.group, resource.version, resource.kind)
        place = {"group": resource.group, "version": resource.version, "resource": resource.plural}
        return {"group": group, "version": version, "kind": kind}, place


def _user_info(user: User) -> Mapping[str, Any]:
    extra = {key: list(values) for key, values in user.extra.items()}
    parts = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {key: value for key, value in parts.items() if value}
