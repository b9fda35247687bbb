"""Where a server is reached and what it is trusted by."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Served:
    """Empty where it is not known."""

    address: str = ""
    """host:port at which the server listens."""
    root_ca: str = ""
    """The certificate (PEM) to trust it by, which is published in every namespace."""
