"""The rules of how a definition converts its objects, in the original's words."""

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kinepy_server.custom.version_checks import LABEL_RULE, is_label
from kinepy_server.resources.checks.causes import Path, forbidden, invalid, required, unsupported
from kinepy_server.resources.checks.webhook_clients import client_errors
from kinepy_server.resources.resource import FieldError, JsonObject

_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")


def conversion_errors(
    conversion: Mapping[str, Any], path: Path, *, established: bool
) -> Iterator[FieldError]:
    """Everything that is wrong. The bundle of certificates is looked at once a definition is `established`."""
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    here = (path, "webhookClientConfig")
    if strategy not in _STRATEGIES:
        yield unsupported((path, "strategy"), strategy, _STRATEGIES)
    if strategy == "Webhook":
        if client is None:
            yield required(here, "required when strategy is set to Webhook")
        else:
            yield from _client(client, here, established=established)
        yield from _reviews(reviews, (path, "conversionReviewVersions"))
        return
    for value, place in ((client, here), (reviews, (path, "conversionReviewVersions"))):
        if value:
            yield forbidden(place, "should not be set when strategy is not set to Webhook")


def _client(client: JsonObject, path: Path, *, established: bool) -> Iterator[FieldError]:
    bundle = client.get("caBundle")
    yield from client_errors(client, path)
    if bundle and established and not is_ca_bundle(bundle):
        why = "data does not contain any valid RSA or ECDSA certificates"
        yield invalid((path, "caBundle"), bundle, f"unable to load root certificates: {why}")


def is_ca_bundle(text: str) -> bool:
    """Whether a text holds certificates, in base64."""
    # Not at the module's head: most servers never see a bundle.
    from cryptography import x509

    try:
        return bool(x509.load_pem_x509_certificates(b64decode(text)))
    except (ValueError, binascii.Error):
        return False


def _reviews(versions: Sequence[str], path: Path) -> Iterator[FieldError]:
    if not versions:
        yield required(path)
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield invalid((path, index), version, "duplicate version")
        elif not is_label(version):
            yield invalid((path, index), version, LABEL_RULE)
        seen.add(version)
    if not seen & set(_REVIEWS):
        yield invalid(path, list(versions), f"must include at least one of {', '.join(_REVIEWS)}")
