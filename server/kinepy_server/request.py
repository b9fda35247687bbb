"""One HTTP request, as the handlers see it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kinepy_server.auth.user import User
from kinepy_server.flow.gate import Place


@dataclass(slots=True)
class Request:
    """A parsed request: what HTTP said, and what it means as a Kubernetes request (RequestInfo).

    `headers` has lower-case names; of a repeated header the values are joined by ", ". `query` keeps
    every value of a parameter, in order. Of the meaning, absent parts are empty strings; `verb` is one of
    get list watch create update patch delete deletecollection, empty for another method, or the lower-case
    method when the path is no resource path. As in the original, a request for a namespace itself has its
    name as `namespace` too. `body` was read whole (empty for watch) and is at most the limit long.
    """

    method: str
    path: str
    query: Mapping[str, Sequence[str]]
    headers: Mapping[str, str]
    user: User
    body: bytes = b""
    is_resource: bool = False
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    extra_path: bool = False
    namespace: str = ""
    name: str = ""
    audit_id: str = ""
    warnings: list[str] = field(default_factory=list)
    """Texts of Warning headers, in order; the dispatcher writes them."""
    place: Place | None = None
    """What it holds while it is served; None before it was let in, and where nothing is counted."""

    def parameter(self, name: str) -> str:
        """The first value of a query parameter; empty when it is absent."""
        values = self.query.get(name)
        return values[0] if values else ""

    def leave(self) -> None:
        """Give the place up to others, if one is held."""
        if self.place is not None:
            self.place.leave()

    def flag(self, name: str) -> bool:
        """A boolean query parameter: present, and neither `false` nor `0`."""
        values = self.query.get(name)
        return values is not None and values[0] not in ("false", "0")
