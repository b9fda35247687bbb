"""Checks of APIServices."""

import re
from base64 import b64decode
from typing import Any

from kinepy_server.resources.checks.causes import Path, invalid, required
from kinepy_server.resources.checks.entries import DNS_SUBDOMAIN, between
from kinepy_server.resources.resource import FieldError
from kinepy_server.resources.strategies.keys import quoted

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_MAX = 63
_NO_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_GROUP_PRIORITY = between(1, 20000, "must be positive and less than 20000")
_VERSION_PRIORITY = between(1, 1000, "must be positive and less than 1000")


def api_service(obj: Any, path: Path, errors: list[FieldError]) -> None:
    """The name, what it is about, and where and how it is served."""
    spec, at = obj.get("spec") or {}, (path, "spec")
    group, version, name = spec.get("group", ""), spec.get("version", ""), obj["metadata"].get("name", "")
    if name != f"{version}.{group}":
        detail = f'must be `spec.version+"."+spec.group`: {quoted(f"{version}.{group}")}'
        errors.append(invalid(((None, "metadata"), "name"), name, detail))
    if group:
        DNS_SUBDOMAIN(group, (at, "group"), errors)
    elif version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        errors.append(required((at, "group"), detail))
    _version(version, (at, "version"), errors)
    _GROUP_PRIORITY(spec.get("groupPriorityMinimum", 0), (at, "groupPriorityMinimum"), errors)
    _VERSION_PRIORITY(spec.get("versionPriority", 0), (at, "versionPriority"), errors)
    _backend(spec, at, errors)


def _version(value: str, path: Path, errors: list[FieldError]) -> None:
    if len(value) > _LABEL_MAX:
        errors.append(invalid(path, value, f"must be no more than {_LABEL_MAX} characters"))
    if not _LABEL.fullmatch(value):
        errors.append(invalid(path, value, _NO_LABEL))


def _backend(spec: Any, at: Path, errors: list[FieldError]) -> None:
    service, insecure, bundle = spec.get("service"), spec.get("insecureSkipTLSVerify"), spec.get("caBundle")
    if service is None:
        if bundle:
            size = f"{len(b64decode(bundle))} bytes"
            errors.append(invalid((at, "caBundle"), size, "local APIServices may not have a caBundle"))
        if insecure:
            detail = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(invalid((at, "insecureSkipTLSVerify"), True, detail))
        return
    where = (at, "service")
    errors += [required((where, name)) for name in ("namespace", "name") if not service.get(name)]
    if insecure and bundle:
        errors.append(invalid((at, "insecureSkipTLSVerify"), True, "may not be true if caBundle is present"))
