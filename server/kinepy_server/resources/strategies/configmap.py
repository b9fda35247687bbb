"""ConfigMap: keys, size, immutability."""

from collections.abc import Sequence

from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.keys import immutable_errors, invalid, key_errors, quoted, too_long
from kinepy_server.resources.strategies.plain import PlainStrategy
from kinepy_server.schema.scalars import base64_size


class ConfigMapStrategy(PlainStrategy):
    """Rules of ConfigMaps."""

    def validate_create(self, new: JsonObject) -> Sequence[FieldError]:
        """Keys well formed and in one member only, at most 1 MiB."""
        data, binary = new.get("data") or {}, new.get("binaryData") or {}
        errors = key_errors("data", sorted(data)) if data else []
        if binary:
            errors += [
                invalid(f"data[{key}]", quoted(key), "duplicate of key present in binaryData")
                for key in sorted(data.keys() & binary.keys())
            ]
            errors += key_errors("binaryData", sorted(binary))
        size = _text_size(data) + sum(map(base64_size, binary.values()))
        return [*errors, *too_long("[]", size)] if errors or size else ()

    def validate_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> Sequence[FieldError]:
        """Besides, nothing may change in an immutable one."""
        return [*immutable_errors(new, old, ("data", "binaryData")), *self.validate_create(new)]


def _text_size(data: JsonObject) -> int:
    return sum(len(value) if value.isascii() else len(value.encode()) for value in data.values())
