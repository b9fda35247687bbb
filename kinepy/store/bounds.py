"""Bad input is refused before it is queued: nothing changed, nothing else harmed."""

from kinepy.errors import InvalidKey, InvalidRequest, ValueTooLarge
from kinepy.settings import Settings


def check_key(key: bytes, settings: Settings) -> None:
    """Raise `InvalidKey` for a key that no store can hold."""
    if not key or len(key) > settings.key_bytes_max:
        raise InvalidKey(key=key, key_bytes_max=settings.key_bytes_max)


def check_value(key: bytes, value: bytes, settings: Settings) -> None:
    """Raise `ValueTooLarge` for a value beyond the bound."""
    if len(value) > settings.value_bytes_max:
        raise ValueTooLarge(key=key, size_bytes=len(value), value_bytes_max=settings.value_bytes_max)


def check_limit(limit: int | None, *, name: str = "limit") -> None:
    """Raise `InvalidRequest` for a limit that can hold nothing."""
    if limit is not None and limit < 1:
        raise InvalidRequest(f"{name} {limit} is invalid: it must be at least 1")


def check_ttl(ttl_s: int, settings: Settings) -> None:
    """Raise `InvalidRequest` for a time to live out of bounds."""
    if not 1 <= ttl_s <= settings.lease_ttl_s_max:
        raise InvalidRequest(
            f"time to live of {ttl_s} s is invalid: it must be from 1 to {settings.lease_ttl_s_max} s"
        )


def check_lease_id(lease: int) -> None:
    """Raise `InvalidRequest` for a lease id that no database can hold; 0 says "no lease" on some wires."""
    if lease == 0 or not -(2**63) <= lease < 2**63:
        raise InvalidRequest(f"lease id {lease} is invalid: it must fit into 64 bits and not be 0")


def check_actor(actor: str) -> None:
    """Raise `InvalidRequest` for an actor that is no text to every database."""
    if actor.isascii():
        fits = "\x00" not in actor
    else:
        # Text from a wire may hold halves of surrogate pairs, which no encoding has.
        fits = "\x00" not in actor and not any("\ud800" <= letter <= "\udfff" for letter in actor)
    if not fits:
        raise InvalidRequest(f"actor {actor!r} is invalid: it must be text without NUL and surrogates")
