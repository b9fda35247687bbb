"""Every setting of the HTTP face, with its bound and its unit in its name."""

from dataclasses import dataclass

from kinepy.settings import check_bounds

KIB, MIB = 1024, 1024 * 1024

MAY_BE_ZERO = frozenset(
    {
        "gzip_bytes_min",
        "future_revision_wait_s",
        "watch_line_cache_bytes",
        "event_ttl_s",
        "json_patch_operations_max",
        "requests_waiting_max",
    }
)
"""Settings whose 0 means "none of it", or at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Settings of one HTTP server. Durations are in seconds (`_s`), sizes in bytes (`_bytes`).

    Raises ValueError for numbers with which the server could not work.
    """

    requests_reading_max: int = 400
    requests_writing_max: int = 200
    requests_waiting_max: int = 1000
    """For each of the two kinds."""
    request_wait_s: float = 5.0
    answers_bytes_max: int = 256 * MIB
    bodies_bytes_max: int = 128 * MIB
    connections_max: int = 20_000
    body_bytes_max: int = 3 * MIB
    gzip_bytes_min: int = 128 * KIB
    request_timeout_s: float = 60.0
    write_timeout_s: float = 34.0
    future_revision_wait_s: float = 3.0
    watch_timeout_min_s: float = 1800.0
    bookmark_interval_s: float = 50.0
    watch_line_cache_bytes: int = 16 * MIB
    scan_page_rows: int = 2000
    scan_page_bytes: int = 1 * MIB
    """Rows, and bytes of them, that a list with a selector, or the first state of a watch, reads from the store at
    once."""
    event_ttl_s: int = 3600
    namespace_retry_s: float = 1.0
    json_patch_operations_max: int = 10_000
    delegation_cache_s: float = 10.0
    """How long an aggregated server keeps what its host has said of a token, and of a right."""
    delegation_timeout_s: float = 10.0
    delegation_requests_max: int = 64
    advertised_address: str = ""
    """host:port of `serverAddressByClientCIDRs`; the address served when empty."""

    def __post_init__(self) -> None:
        check_bounds(self, may_be_zero=MAY_BE_ZERO)
