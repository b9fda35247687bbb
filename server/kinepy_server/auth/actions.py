"""What somebody wants to do, as authorizers see it."""

from dataclasses import dataclass
from typing import Protocol


class Attributes(Protocol):
    """What is to be done; a `Request` is one. Of a path that is no resource only `verb` and `path` count."""

    is_resource: bool
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    path: str


@dataclass(slots=True)
class Action:
    """Something to be done that is not, or not only, the request itself."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    is_resource: bool = True
