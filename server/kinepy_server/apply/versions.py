"""The versions in which an object is served: managers own fields of the version that they wrote through."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from kinepy_server.schema.types import Type

JsonObject = dict[str, Any]


def _same(obj: JsonObject) -> JsonObject:
    return obj


@dataclass(frozen=True, slots=True)
class Version:
    """One version: its type, and how objects come to it from the version of the request and back.

    Conversions leave their argument as it is; results may share parts with it.
    """

    type: Type
    convert: Callable[[JsonObject], JsonObject] = _same
    convert_back: Callable[[JsonObject], JsonObject] = _same


class Versions(Protocol):
    """The versions of one object, seen from a request that came through one of them."""

    @property
    def api_version(self) -> str:
        """The request's."""
        ...

    @property
    def type(self) -> Type:
        """The type of the request's version."""
        ...

    @property
    def fixed(self) -> bool:
        """Whether the types of the versions never change: those of custom resources do."""
        ...

    @property
    def empty(self) -> JsonObject:
        """An object that nothing was written into, in the request's version. Not to be changed."""
        ...

    def find(self, api_version: str) -> Version | None:
        """A version of the object, or None when it is not served any more."""
        ...
