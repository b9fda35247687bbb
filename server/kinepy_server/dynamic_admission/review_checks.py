"""What is wrong with the AdmissionReview that a webhook answered, in the original's words."""

from collections.abc import Mapping
from typing import Any

from kinepy_server.resources.strategies.keys import quoted
from kinepy_server.schema.go_json import kind_of

GROUP, KIND = "admission.k8s.io", "AdmissionReview"
_MEMBERS: Mapping[str, tuple[type, str]] = {
    "uid": (str, "types.UID"),
    "allowed": (bool, "bool"),
    "status": (dict, "v1.Status"),
    "patch": (str, "[]uint8"),
    "patchType": (str, "v1.PatchType"),
    "warnings": (list, "[]string"),
    "auditAnnotations": (dict, "map[string]string"),
}
"""Members of a response with their types, and what the original calls these."""


def misfit_of(review: Any) -> str:
    """The first part of a review that is of another type than it must be; empty when there is none."""
    if not isinstance(review, dict):
        return f"json: cannot unmarshal {kind_of(review)} into Go value of type v1.AdmissionReview"
    response = review.get("response")
    if response is None:
        return ""
    if not isinstance(response, dict):
        return _misfit("AdmissionReview.response", response, "v1.AdmissionResponse")
    for name, (kind, go) in _MEMBERS.items():
        value = response.get(name)
        if value is not None and not isinstance(value, kind):
            return _misfit(f"AdmissionResponse.response.{name}", value, go)
    for text in response.get("warnings") or ():
        if not isinstance(text, str):
            return _misfit("AdmissionResponse.response.warnings", text, "string")
    return ""


def _misfit(field: str, value: Any, go: str) -> str:
    return f"json: cannot unmarshal {kind_of(value)} into Go struct field {field} of type {go}"


def problem_of(review: Mapping[str, Any], uid: str, *, mutating: bool) -> str:
    """What is wrong with a review that has the right types; empty when nothing is."""
    response = review.get("response")
    if response is None:
        return "webhook response was absent"
    if response.get("uid") != uid:
        return f'expected response.uid="{uid}", got {quoted(response.get("uid") or "")}'
    group, _, version = str(review.get("apiVersion") or "").rpartition("/")
    api_version, kind = f"{group}/{version}", review.get("kind") or ""
    if (api_version, kind) != (f"{GROUP}/v1", KIND):
        return f"expected webhook response of {GROUP}/v1, Kind={KIND}, got {api_version}, Kind={kind}"
    return _patch_problem(response, mutating=mutating)


def _patch_problem(response: Mapping[str, Any], *, mutating: bool) -> str:
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not mutating:
        if patch:
            return "validating webhook may not return response.patch"
        return "" if patch_type is None else "validating webhook may not return response.patchType"
    if patch and patch_type is None:
        return "webhook returned response.patch but not response.patchType"
    if not patch and patch_type is not None:
        return "webhook returned response.patchType but not response.patch"
    if patch_type == "":
        return 'webhook returned invalid response.patchType of ""'
    return "" if patch_type in (None, "JSONPatch") else f"unsupported patch type {quoted(patch_type)}"


def older_problem_of(review: Mapping[str, Any]) -> str:
    """The same for v1beta1, of which less was asked."""
    return "webhook response was absent" if review.get("response") is None else ""
