"""What others need to verify the tokens of service accounts: the issuer's description and its public key."""

from collections.abc import Sequence

import orjson

from kinepy_server.auth.accounts import ISSUER
from kinepy_server.auth.jwt import ALGORITHM
from kinepy_server.context import Context
from kinepy_server.request import Request
from kinepy_server.response import Response
from kinepy_server.seams import Page

KEYS_PATH = "/openid/v1/jwks"
_KEYS_TYPE = "application/jwk-set+json"
_CACHED = {"cache-control": "public, max-age=3600"}


def oidc_pages() -> Sequence[Page]:
    """The two documents."""
    return [Page("/.well-known/openid-configuration", _configuration), Page(KEYS_PATH, _keys)]


async def _configuration(context: Context, request: Request) -> Response:
    address = context.settings.advertised_address or request.headers.get("host", "")
    body = {
        "issuer": ISSUER,
        "jwks_uri": f"https://{address}{KEYS_PATH}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [ALGORITHM],
    }
    return Response(200, orjson.dumps(body), headers=dict(_CACHED), verbatim=True)


async def _keys(context: Context, request: Request) -> Response:
    body = orjson.dumps({"keys": [context.identity.accounts.key.published()]})
    return Response(200, body, _KEYS_TYPE, headers=dict(_CACHED), verbatim=True)
