"""All functions by name."""

from collections.abc import Mapping, Sequence
from functools import cache

from kinepy_server.cel.signatures import Overload


@cache
def functions() -> Mapping[str, Sequence[Overload]]:
    """Name -> overloads: of methods with a dot in front, such as `.size`."""
    # Most servers never evaluate an expression, and should not wait for these.
    from kinepy_server.cel.libraries import authorization, formats, lists, network, numbers, standard, strings

    found: dict[str, list[Overload]] = {}
    for library in (standard, strings, lists, network, numbers, formats, authorization):
        for overload in library.FUNCTIONS:
            name = f".{overload.name}" if overload.is_method else overload.name
            found.setdefault(name, []).append(overload)
    return found
