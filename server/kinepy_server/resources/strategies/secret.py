"""Secret: stringData, the rules of the well-known types, size, immutability."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.keys import (
    immutable_errors,
    invalid,
    key_errors,
    quoted,
    required,
    too_long,
)
from kinepy_server.resources.strategies.plain import PlainStrategy
from kinepy_server.schema.go_json import kind_of, syntax_problem
from kinepy_server.schema.scalars import base64_size

SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"
REQUIRED_KEYS: Mapping[str, Sequence[str]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
JSON_KEYS = {".dockercfg", ".dockerconfigjson"}


class SecretStrategy(PlainStrategy):
    """Rules of Secrets."""

    def default(self, new: JsonObject) -> None:
        """Fold `stringData` into `data`; the type is Opaque when none is given."""
        texts = new.pop("stringData", None)
        if texts:
            data = new.setdefault("data", {})
            for key, text in texts.items():
                data[key] = b64encode(text.encode()).decode()
        if not new.get("type"):
            new["type"] = "Opaque"

    def prepare_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> None:
        """A type that is left out is the stored one."""
        if not new.get("type"):
            new["type"] = old.get("type", "Opaque")

    def validate_create(self, new: JsonObject) -> Sequence[FieldError]:
        """Keys well formed, at most 1 MiB, and what the type requires."""
        data = new.get("data") or {}
        errors = key_errors("data", sorted(data)) if data else []
        errors += too_long("data", sum(map(base64_size, data.values())))
        return errors + _type_errors(new, data)

    def validate_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> Sequence[FieldError]:
        """Besides, the type never changes, and nothing in an immutable one."""
        errors = []
        if new.get("type") != old.get("type"):
            errors.append(invalid("type", quoted(new.get("type", "")), "field is immutable"))
        return [*errors, *immutable_errors(new, old, ("data",)), *self.validate_create(new)]


def _type_errors(new: JsonObject, data: Mapping[str, str]) -> list[FieldError]:
    match new.get("type"):
        case "kubernetes.io/service-account-token":
            annotations = new["metadata"].get("annotations") or {}
            if not annotations.get(SERVICE_ACCOUNT_NAME):
                return [required(f"metadata.annotations[{SERVICE_ACCOUNT_NAME}]")]
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                return [required("data[username]"), required("data[password]")]
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                return [required("data[ssh-privatekey]")]
        case kind:
            return [error for key in REQUIRED_KEYS.get(str(kind), ()) for error in _key_errors(key, data)]
    return []


def _key_errors(key: str, data: Mapping[str, str]) -> Sequence[FieldError]:
    if key not in data:
        return [required(f"data[{key}]")]
    if key in JSON_KEYS:
        problem = _json_problem(b64decode(data[key]))
        return [invalid(f"data[{key}]", '"<secret contents redacted>"', problem)] if problem else []
    return []


def _json_problem(content: bytes) -> str:
    try:
        value: Any = orjson.loads(content)
    except orjson.JSONDecodeError:
        return syntax_problem(content)
    if value is None or isinstance(value, dict):
        return ""
    return f"json: cannot unmarshal {kind_of(value)} into Go value of type map[string]interface {{}}"
