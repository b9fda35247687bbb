"""Tokens of service accounts: what they claim, and whether it still holds.

A token names its service account, and perhaps a pod, a secret or a node, by name and uid. It is good for as
long as those exist: each use looks them up, in memory nearly always.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from kinepy import KeyValue, Store
from kinepy.clock import Clock
from kinepy_server.auth.jwt import BadToken, texts
from kinepy_server.auth.tokens import token_digest
from kinepy_server.auth.user import AUTHENTICATED, SERVICE_ACCOUNT_PREFIX, User, service_account_groups
from kinepy_server.objects.times import timestamp
from kinepy_server.objects.uids import new_uid
from kinepy_server.resources.registry import Registry

if TYPE_CHECKING:
    from kinepy_server.auth.signing import SigningKey

ISSUER = "https://kubernetes.default.svc"
AUDIENCES = (ISSUER,)
LEEWAY_S = 60
"""Clocks may differ by this much, and what was deleted this recently still counts."""
KNOWN_MAX = 10_000
_PRIVATE = "kubernetes.io"
_EXTRA = "authentication.kubernetes.io/"
BOUND_TO = {"pod": "pods", "secret": "secrets", "node": "nodes"}
"""Claim -> resource of what a token may be bound to."""


class InvalidToken(Exception):
    """A token of this server that is not good, or not good any more; the text is the original's."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that must exist, by what the token calls it."""

    claim: str
    key: bytes
    uid: str


@dataclass(slots=True)
class _Known:
    """A token whose signature was verified. `seen` are revisions of its objects that were found to be right."""

    user: User
    audiences: Sequence[str]
    not_before: int
    expires: int
    references: Sequence[Reference]
    seen: dict[bytes, int] = field(default_factory=dict)


class AccountTokens:
    """Issues and checks the tokens of service accounts."""

    def __init__(
        self, find_key: "Callable[[], SigningKey]", store: Store, registry: Registry, *, clock: Clock
    ) -> None:
        """`find_key` is called when the key is first needed."""
        self._find_key = find_key
        self._store, self._registry, self._clock = store, registry, clock
        self._digest = token_digest()
        self._known: dict[bytes, _Known] = {}

    @cached_property
    def key(self) -> "SigningKey":
        """What tokens are signed with."""
        return self._find_key()

    async def user(
        self, token: str, audiences: Iterable[str] = AUDIENCES
    ) -> tuple[User, Sequence[str]] | None:
        """The user of a token, and for which of the audiences it is; None for a token that is not this server's.

        Raises `InvalidToken` for one that is not good.
        """
        digest = self._digest(token)
        known = self._known.get(digest)
        if known is None:
            known = self._verified(token)
            if known is None:
                return None
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[digest] = known
        _check_times(known, self._clock.now_us() // 1_000_000)
        fitting = [audience for audience in audiences if audience in known.audiences]
        if not fitting:
            wanted, has = _go_list(audiences), _go_list(known.audiences)
            raise InvalidToken(f"token audiences {has} is invalid for the target audiences {wanted}")
        for reference in known.references:
            await self._check(reference, known.seen)
        return known.user, fitting

    def _verified(self, token: str) -> _Known | None:
        try:
            return self._read(self.key.verify(token))
        except (BadToken, KeyError, TypeError, AttributeError):
            return None

    def _read(self, claims: Mapping[str, Any]) -> _Known | None:
        if claims["iss"] != ISSUER:
            return None
        private = claims[_PRIVATE]
        namespace, account = private["namespace"], private["serviceaccount"]
        if claims["sub"] != f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{account['name']}":
            return None
        references = [self._reference("serviceaccount", "serviceaccounts", account, namespace=namespace)]
        # A pod's token tells the pod's node too, but does not depend on it.
        for claim, plural in BOUND_TO.items():
            if claim in private and not (claim == "node" and "pod" in private):
                references.append(self._reference(claim, plural, private[claim], namespace=namespace))
        return _Known(
            _user(claims, private, namespace),
            texts(claims["aud"]),
            int(claims["nbf"]),
            int(claims["exp"]),
            references,
        )

    def _reference(self, claim: str, plural: str, value: Mapping[str, str], *, namespace: str) -> Reference:
        resource = self._registry.lookup("", "v1", plural)
        assert resource is not None, f"{plural} are always served"
        return Reference(claim, resource.key(namespace, value["name"]), value["uid"])

    async def _check(self, reference: Reference, seen: dict[bytes, int]) -> None:
        """What is not right in memory is looked up again in the newest state."""
        kv = await self._store.get(reference.key, consistent=False)
        if kv is not None and seen.get(reference.key) == kv.mod_revision:
            return
        if self._problem(reference, kv):
            kv = await self._store.get(reference.key)
            problem = self._problem(reference, kv)
            if problem:
                raise InvalidToken(problem)
        if kv is not None and b'"deletionTimestamp":' not in kv.value:
            seen[reference.key] = kv.mod_revision

    def _problem(self, reference: Reference, kv: KeyValue | None) -> str:
        account = reference.claim == "serviceaccount"
        *_, namespace, name = reference.key.decode().split("/")
        if kv is None:
            return f'serviceaccounts "{name}" not found' if account else _INVALIDATED
        metadata = orjson.loads(kv.value)["metadata"]
        if metadata["uid"] != reference.uid:
            if account:
                return f"service account UID ({metadata['uid']}) does not match claim ({reference.uid})"
            claim = f"service account {reference.claim} ref claim ({reference.uid})"
            shown = reference.claim if reference.claim == "pod" else reference.claim.capitalize()
            return f"{shown} UID ({metadata['uid']}) does not match {claim}"
        deleted = metadata.get("deletionTimestamp")
        # Texts of this form sort as the instants that they tell.
        if deleted and deleted < timestamp(self._clock.now_us() - LEEWAY_S * 1_000_000):
            return f"service account {namespace}/{name} has been deleted" if account else _INVALIDATED
        return ""


_INVALIDATED = "service account token has been invalidated"


def claims_of(
    account: Mapping[str, Any],
    bound: Mapping[str, Any],
    *,
    audiences: Sequence[str],
    now_s: int,
    seconds: int,
) -> dict[str, Any]:
    """What a token of a service account claims. `account` is its metadata, `bound` what it is bound to by claim."""
    namespace, name = account["namespace"], account["name"]
    return {
        "aud": list(audiences),
        "exp": now_s + seconds,
        "iat": now_s,
        "iss": ISSUER,
        "jti": new_uid(),
        _PRIVATE: {"namespace": namespace, **bound, "serviceaccount": {"name": name, "uid": account["uid"]}},
        "nbf": now_s,
        "sub": f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}",
    }


def _user(claims: Mapping[str, Any], private: Mapping[str, Any], namespace: str) -> User:
    extra: dict[str, Sequence[str]] = {}
    if claims.get("jti"):
        extra[f"{_EXTRA}credential-id"] = (f"JTI={claims['jti']}",)
    for claim in ("node", "pod"):
        if claim in private:
            extra[f"{_EXTRA}{claim}-name"] = (private[claim]["name"],)
            if private[claim].get("uid"):
                extra[f"{_EXTRA}{claim}-uid"] = (private[claim]["uid"],)
    groups = (*service_account_groups(namespace), AUTHENTICATED)
    return User(claims["sub"], groups, private["serviceaccount"]["uid"], extra)


def _check_times(known: _Known, now_s: int) -> None:
    if now_s > known.expires + LEEWAY_S:
        raise InvalidToken("service account token has expired")
    if now_s < known.not_before - LEEWAY_S:
        raise InvalidToken("service account token is not valid yet")


def _go_list(values: Iterable[str]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"
