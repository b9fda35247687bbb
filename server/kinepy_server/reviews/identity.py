"""SelfSubjectReview and TokenReview: who am I, and whose is this token?"""

from collections.abc import Sequence

from kinepy_server.auth.accounts import AUDIENCES, InvalidToken
from kinepy_server.auth.user import User
from kinepy_server.context import Context
from kinepy_server.errors import bad_request
from kinepy_server.objects.times import timestamp
from kinepy_server.request import Request
from kinepy_server.resources.resource import JsonObject

_UNKNOWN = "invalid bearer token"


async def review_self(context: Context, request: Request, obj: JsonObject) -> None:
    """Tell the user of the request, which is the one that it acts as."""
    obj["metadata"]["creationTimestamp"] = timestamp(context.clock.now_us())
    obj["status"] = {"userInfo": user_object(request.user)}


def check_token(request: Request, obj: JsonObject) -> None:
    """Raise what is wrong with a question about a token."""
    if not (obj.get("spec") or {}).get("token"):
        raise bad_request("token is required for TokenReview in authentication")


async def review_token(context: Context, request: Request, obj: JsonObject) -> None:
    """Tell the user of a token, if it is good for one of the audiences."""
    spec = obj["spec"]
    token = spec["token"]
    audiences = spec.get("audiences") or AUDIENCES
    try:
        found = await _user(context, token, audiences)
    except InvalidToken as error:
        obj["status"] = {"user": {}, "error": f"[{_UNKNOWN}, {error}]"}
        return
    if found is None:
        obj["status"] = {"user": {}, "error": _UNKNOWN}
    else:
        user, good_for = found
        obj["status"] = {"authenticated": True, "user": user_object(user), "audiences": list(good_for)}


async def _user(context: Context, token: str, audiences: Sequence[str]) -> tuple[User, Sequence[str]] | None:
    identity = context.identity
    found = await identity.accounts.user(token, audiences)
    user = identity.token_user(token) if found is None else None
    if user is None:
        return found
    # A token that is kept says nothing of audiences: it is for this server.
    good_for = [audience for audience in audiences if audience in AUDIENCES]
    return (user, good_for) if good_for else None


def user_object(user: User) -> JsonObject:
    """A user as a JSON value; empty parts are absent."""
    parts = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(user.extra[key]) for key in sorted(user.extra)},
    }
    return {name: value for name, value in parts.items() if value}
