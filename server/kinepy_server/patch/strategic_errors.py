"""Why a strategic merge patch is refused, in the original's words and with its codes."""

from typing import Any

from kinepy_server.schema.go_text import go_text, go_type


class PatchRefused(ValueError):
    """The patch cannot be applied. `code` is that of the answer: most of these the original calls its own fault."""

    def __init__(self, text: str, *, code: int = 500) -> None:
        super().__init__(text)
        self.code = code


def bad_directive(directive: Any, where: dict[str, Any]) -> PatchRefused:
    """`$patch` is none of its words."""
    return PatchRefused(f"unknown patch type: {go_text(directive)} in map: {go_text(where)}")


def no_merge_key(element: dict[str, Any], key: str) -> PatchRefused:
    """An element of a keyed list does not say which one it is."""
    return PatchRefused(f"map: {go_text(element)} does not contain declared merge key: {key}")


def bad_type(expected: Any, found: Any) -> PatchRefused:
    """A value has another type than a directive or a list needs."""
    return PatchRefused(f"expected a {go_type(expected)}, but received a {go_type(found)}")


def bad_order(patch: list[Any], order: list[Any]) -> PatchRefused:
    """The elements of the patch stand in another order than the one it asks for."""
    return PatchRefused(
        f"The order in patch list:\n{go_text(patch)}\n doesn't match $setElementOrder list:\n{go_text(order)}\n"
    )


def unknown_field(struct: str, name: str) -> PatchRefused:
    """The type has no such field."""
    return PatchRefused(f'unable to find api field in struct {struct} for the json field "{name}"')


def bad_retain_keys() -> PatchRefused:
    """`$retainKeys` is no list, or the patch has members that are not in it."""
    return PatchRefused("invalid patch format of retainKeys", code=400)


def bad_order_format() -> PatchRefused:
    """`$setElementOrder` without a field."""
    return PatchRefused("invalid patch format of setElementOrder list", code=400)


def bad_primitive_list() -> PatchRefused:
    """`$deleteFromPrimitiveList` without a field."""
    return PatchRefused("invalid patch format of primitive list", code=400)


def nested_lists() -> PatchRefused:
    """Lists in merged lists have no meaning."""
    return PatchRefused("lists of lists are not supported", code=422)
