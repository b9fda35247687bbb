"""What a server knows of webhooks and policies, and its connections to webhooks."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kinepy_server.aggregation.resolver import Resolver
    from kinepy_server.dynamic_admission.client import Clients
    from kinepy_server.dynamic_admission.configuration import Configuration


OWN_GROUP = "admissionregistration.k8s.io"
"""Objects of this group are never subject to admission by objects: they could lock everybody out."""
UNSEEN_BY_POLICIES = frozenset(
    (
        "selfsubjectreviews.authentication.k8s.io",
        "tokenreviews.authentication.k8s.io",
        "localsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
    )
)
"""Questions about rights and identities are for webhooks alone: a policy, too, could lock everybody out by them."""
MUTATING = b"/registry/mutatingwebhookconfigurations/"
VALIDATING = b"/registry/validatingwebhookconfigurations/"
POLICIES = b"/registry/validatingadmissionpolicies/"
BINDINGS = b"/registry/validatingadmissionpolicybindings/"
MUTATING_POLICIES = b"/registry/mutatingadmissionpolicies/"
MUTATING_BINDINGS = b"/registry/mutatingadmissionpolicybindings/"
PREFIXES = (MUTATING, VALIDATING, POLICIES, BINDINGS, MUTATING_POLICIES, MUTATING_BINDINGS)
"""Where webhooks, policies and bindings are stored."""


class Extensions:
    """Kept in step by a follower; read by every write."""

    def __init__(self) -> None:
        self.configuration: Configuration | None = None
        """None when there are no webhooks and policies."""
        self.places: Resolver | None = None
        """Where Services lead to; names in DNS where it is None."""
        self._clients: Clients | None = None

    @property
    def clients(self) -> "Clients":
        """The connections to webhooks."""
        if self._clients is None:
            # Most servers never ask a webhook.
            from kinepy_server.dynamic_admission.client import Clients

            self._clients = Clients(self.places)
        return self._clients

    async def close(self) -> None:
        """Close the connections."""
        if self._clients is not None:
            await self._clients.close()
