"""Certificate signing requests: who asks, who approves."""

from collections.abc import Mapping

from kinepy_server.auth.user import User
from kinepy_server.resources.resource import JsonObject
from kinepy_server.resources.strategies.typed import Hooks

DECISIONS = frozenset(("Approved", "Denied"))


def sign_request(request: JsonObject, user: User) -> None:
    """A request tells who made it, whatever its maker writes there."""
    spec = request.setdefault("spec", {})
    for name in ("username", "uid", "groups", "extra"):
        spec.pop(name, None)
    spec["username"] = user.name
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.uid:
        spec["uid"] = user.uid
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}


def _keep(new: JsonObject, old: JsonObject) -> None:
    """What was asked for never changes."""
    new["spec"] = old["spec"]


def _approve(new: JsonObject, old: JsonObject) -> None:
    """Only the decision changes: the conditions Approved and Denied."""
    conditions = (new.get("status") or {}).get("conditions") or []
    _keep(new, old)
    new["status"] = dict(old.get("status") or {})
    merged = [one for one in new["status"].get("conditions") or () if one.get("type") not in DECISIONS]
    merged += [_dated(one, new) for one in conditions if one.get("type") in DECISIONS]
    if merged:
        new["status"]["conditions"] = merged
    else:
        new["status"].pop("conditions", None)


def _dated(condition: JsonObject, obj: JsonObject) -> JsonObject:
    dated = dict(condition)
    times = [entry.get("time") for entry in obj["metadata"].get("managedFields") or () if entry.get("time")]
    now = max(times, default=obj["metadata"].get("creationTimestamp"))
    for name in ("lastUpdateTime", "lastTransitionTime"):
        if not dated.get(name):
            dated[name] = now
    return dated


HOOKS: Mapping[str, Hooks] = {
    "certificates.v1.CertificateSigningRequest": Hooks(update=_keep, subresources={"approval": _approve}),
}
