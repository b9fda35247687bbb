"""One webhook of a configuration."""

from collections.abc import Mapping
from typing import Any

from kinepy_server.cel.terms import condition_terms
from kinepy_server.dynamic_admission.conditions import Conditions
from kinepy_server.dynamic_admission.endpoint import endpoint_of
from kinepy_server.dynamic_admission.matching import Matcher

TIMEOUT_S = 10
REVIEW_VERSIONS = ("v1", "v1beta1")


class Webhook:
    """Where a webhook is, what it is asked about, and what its silence means."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.name: str = spec.get("name", "")
        self.matcher = Matcher(spec.get("rules") or (), spec)
        self.conditions = Conditions(spec.get("matchConditions") or (), condition_terms())
        self.ignores_failure = spec.get("failurePolicy", "Fail") == "Ignore"
        self.timeout_s: int = spec.get("timeoutSeconds") or TIMEOUT_S
        self.takes_dry_run = spec.get("sideEffects") in ("None", "NoneOnDryRun")
        versions = spec.get("admissionReviewVersions") or ()
        self.review_version = next((one for one in versions if one in REVIEW_VERSIONS), REVIEW_VERSIONS[0])
        """The version of the reviews that it understands."""
        self.again = spec.get("reinvocationPolicy") == "IfNeeded"
        endpoint = endpoint_of(spec.get("clientConfig") or {}, timeout_s=self.timeout_s)
        self.url, self.ca, self.service = endpoint.url, endpoint.ca, endpoint.service
