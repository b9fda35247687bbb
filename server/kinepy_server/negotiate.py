"""What a client sends and takes: Content-Type and Accept, as the original reads them.

The original judges Accept twice. Its router wants one clause whose type, letter by letter, is one that the
route produces (or `*/*`); then the clauses are tried by quality, with their parameters. Both refusals have
texts of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from kinepy_server.errors import StatusError
from kinepy_server.resources.resource import Resource

BodyType = Literal["json", "yaml", "protobuf"]
AnswerType = Literal["json", "yaml", "protobuf"]
Form = Literal["", "Table", "PartialObjectMetadata", "PartialObjectMetadataList"]

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
MEDIA_TYPES = (JSON, YAML, PROTOBUF)
STREAM_TYPES = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
BODY_TYPES: dict[str, BodyType] = {JSON: "json", YAML: "yaml", PROTOBUF: "protobuf"}
ANSWER_TYPES: dict[str, AnswerType] = {JSON: "json", YAML: "yaml", PROTOBUF: "protobuf"}
CONTENT_TYPES = {answer: media_type for media_type, answer in ANSWER_TYPES.items()}
STREAM_CONTENT_TYPES: dict[AnswerType, str] = {"protobuf": f"{PROTOBUF};stream=watch"}
META_VERSIONS = ("v1", "v1beta1")
CACHED_HEADER_MAX = 512


@dataclass(frozen=True, slots=True)
class Accepted:
    """The representation that the client gets: `form` is empty for the object itself, `version` that of
    meta.k8s.io for the other forms. `pretty` was asked for in the Accept header."""

    media_type: AnswerType = "json"
    form: Form = ""
    version: str = "v1"
    pretty: bool = False

    @property
    def meta_api_version(self) -> str:
        """apiVersion of a Table or of partial metadata."""
        return f"meta.k8s.io/{self.version}"

    @property
    def content_type(self) -> str:
        """The Content-Type of an answer in this representation."""
        return CONTENT_TYPES[self.media_type]

    @property
    def stream_type(self) -> str:
        """The Content-Type of a watch in this representation."""
        return STREAM_CONTENT_TYPES.get(self.media_type, self.content_type)


PLAIN = Accepted()


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of an Accept header."""

    type: str
    subtype: str
    quality: float
    parameters: tuple[tuple[str, str], ...]


def negotiate(accept: str, *, verb: str, protobuf: bool = True, routed: bool = True) -> Accepted:
    """The representation for an Accept header (empty when absent).

    `protobuf`: whether the objects have a message; their metadata alone always has. `routed`: whether the
    original has a route for the resource, which it has not for custom ones. Raises the original's 406 when no
    clause can be served.
    """
    if not accept or accept == JSON or accept == "*/*":
        return PLAIN
    if len(accept) > CACHED_HEADER_MAX:
        return _negotiate(accept, verb in ("list", "watch"), protobuf=protobuf, routed=routed)
    return _cached(accept, verb in ("list", "watch"), protobuf=protobuf, routed=routed)


def check_form(accepted: Accepted, resource: Resource, *, is_list: bool) -> None:
    """Refuse the list form of partial metadata for one object, and the other way round."""
    wanted = "PartialObjectMetadata" if is_list else "PartialObjectMetadataList"
    if accepted.form == wanted:
        kind = f"(*{resource.internal_package}.{resource.kind}{'List' if is_list else ''})"
        what = "a list" if is_list else "not a list"
        raise StatusError(
            406, "NotAcceptable", f"you requested {wanted}, but the requested object is {what} {kind}"
        )


def body_type(content_type: str) -> BodyType:
    """How a POST, PUT or DELETE body is encoded; JSON when the client does not say."""
    if content_type == JSON or not content_type:
        return "json"
    found = BODY_TYPES.get(content_type.partition(";")[0].strip().lower())
    if found is None:
        raise unsupported_body(MEDIA_TYPES)
    return found


def patch_type(content_type: str, served: Sequence[str]) -> str:
    """The media type of a PATCH of a typed resource, one of `served`."""
    media_type = content_type.partition(";")[0].strip()
    if media_type not in served:
        raise StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
    return media_type


def unsupported_body(served: Sequence[str]) -> StatusError:
    """415 for a body, listing what is taken."""
    text = f"the body of the request was in an unknown format - accepted media types include: {', '.join(served)}"
    return StatusError(415, "UnsupportedMediaType", text)


def parse_accept(header: str) -> list[Clause]:
    """The clauses, best first: by quality, then exact before wildcard, then as written."""
    clauses = []
    for text in header.split(","):
        media_type, *parts = (part.strip() for part in text.split(";"))
        kind, slash, subtype = media_type.partition("/")
        if not slash and kind != "*":
            continue
        parameters = tuple(
            (key.strip(), value.strip()) for key, _, value in (part.partition("=") for part in parts)
        )
        quality = next((_quality(value) for key, value in parameters if key == "q"), 1.0)
        clauses.append(Clause(kind, subtype or "*", quality, tuple(p for p in parameters if p[0] != "q")))
    clauses.sort(key=lambda clause: (-clause.quality, clause.type == "*", clause.subtype == "*"))
    return clauses


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _negotiate(accept: str, streams: bool, *, protobuf: bool, routed: bool) -> Accepted:
    if routed:
        _check_route(accept, streams)
    for clause in parse_accept(accept):
        for media_type, answer in ANSWER_TYPES.items():
            if _matches(clause, media_type):
                accepted = _with_parameters(answer, dict(clause.parameters))
                if accepted is not None and (accepted.form or protobuf or answer != "protobuf"):
                    return accepted
    raise not_acceptable()


_cached = lru_cache(maxsize=1024)(_negotiate)


def not_acceptable(served: Sequence[str] = MEDIA_TYPES) -> StatusError:
    """406 for a header whose types are known but cannot be served as asked."""
    text = f"only the following media types are accepted: {', '.join(served)}"
    return StatusError(406, "NotAcceptable", text)


def _check_route(accept: str, streams: bool) -> None:
    produced = MEDIA_TYPES + STREAM_TYPES if streams else MEDIA_TYPES
    for text in accept.split(","):
        media_type = text.partition(";")[0].strip()
        if media_type == "*/*" or media_type in produced:
            return
    text = f"406: Not Acceptable\n\nAvailable representations: {', '.join(produced)}"
    raise StatusError(406, "NotAcceptable", text, details={})


def _matches(clause: Clause, media_type: str) -> bool:
    kind, _, subtype = media_type.partition("/")
    if clause.type == "*" and clause.subtype == "*":
        return True
    return clause.type == kind and clause.subtype in (subtype, "*")


def _with_parameters(answer: AnswerType, parameters: dict[str, str]) -> Accepted | None:
    """The representation that a clause's parameters ask for; None when it cannot be served."""
    if parameters.get("stream", "watch") != "watch" or parameters.get("sv"):
        return None
    pretty = parameters.get("pretty") == "1"
    if not parameters.keys() & {"as", "g", "v"}:
        return Accepted(media_type=answer, pretty=pretty)
    form, version = parameters.get("as", ""), parameters.get("v", "")
    if parameters.get("g") != "meta.k8s.io" or version not in META_VERSIONS:
        return None
    match form:
        case "Table" if answer == "protobuf":
            return None
        case "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList":
            return Accepted(answer, form, version, pretty)
        case _:
            return None
