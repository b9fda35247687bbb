"""Why a request was not let in, in the original's words."""

from enum import Enum


class Reason(Enum):
    """The `reason` of `apiserver_flowcontrol_rejected_requests_total`."""

    QUEUE_FULL = "queue-full"
    TIME_OUT = "time-out"
    CANCELLED = "cancelled"
