"""The strategy of a type without rules of its own, and the base of those with some."""

from collections.abc import Sequence

from kinepy_server.resources.resource import FieldError, JsonObject


class PlainStrategy:
    """Does nothing; see `Strategy` for what each method is asked."""

    def default(self, new: JsonObject) -> None:
        """No defaults."""

    def prepare_create(self, new: JsonObject) -> None:
        """Everything is the client's."""

    def prepare_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> None:
        """Everything is the client's."""

    def validate_create(self, new: JsonObject) -> Sequence[FieldError]:
        """No rules."""
        return ()

    def validate_update(self, new: JsonObject, old: JsonObject, *, subresource: str) -> Sequence[FieldError]:
        """The same rules as on create."""
        return self.validate_create(new)
