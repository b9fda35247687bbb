"""The rules of how a definition converts its objects, in the original's words."""

import binascii
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from kinepy_server.custom.version_checks import LABEL_RULE, is_label
from kinepy_server.resources.checks.causes import Path, forbidden, invalid, required, unsupported
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.qualified import SUBDOMAIN, SUBDOMAIN_RULE

_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"
_PORT_MAX = 65535


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
    url, service, bundle = client.get("url"), client.get("service"), client.get("caBundle")
    if url is not None and service is None:
        yield from _url(url, (path, "url"))
    elif service is not None and url is None:
        yield from _service(service, (path, "service"))
    else:
        yield required(path, "exactly one of url or service is required")
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


def _url(text: str, path: Path) -> Iterator[FieldError]:
    try:
        url = urlsplit(text)
        host = url.netloc.rpartition("@")[2]
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if url.scheme != "https":
        yield invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not host:
        yield invalid(path, host, f"host must be provided{_FORM}")
    if "@" in url.netloc:
        user = url.netloc.rpartition("@")[0]
        yield invalid(path, user, "user information is not permitted in the URL")
    if url.fragment:
        yield invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid(path, url.query, "query parameters are not permitted in the URL")


def _service(service: JsonObject, path: Path) -> Iterator[FieldError]:
    # The original takes the one for the other here.
    for told, member in (("name", "namespace"), ("namespace", "name")):
        if not service.get(member):
            yield required((path, told), f"service {told} is required")
    port = service.get("port", 443)
    if not 1 <= port <= _PORT_MAX:
        yield invalid(
            (path, "port"), port, f"port is not valid: must be between 1 and {_PORT_MAX}, inclusive"
        )
    text = service.get("path")
    if text and text != "/":
        yield from _path(text, (path, "path"))


def _path(text: str, path: Path) -> Iterator[FieldError]:
    if text == "//":
        yield invalid(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid(path, text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid(path, text, f"segment[{index}] may not be empty")
        elif not SUBDOMAIN.fullmatch(step):
            yield invalid(path, text, f"segment[{index}]: {SUBDOMAIN_RULE}")


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
