"""The files in which machines remember what they have seen of the store: one for all nodes, or one for each.

A process that was killed writes nothing any more, though here its tasks go on for a moment: its file is put back.
"""

from pathlib import Path


class Witnesses:
    """Where the nodes' witnesses are."""

    def __init__(self, folder: Path, *, shared: bool) -> None:
        self._folder, self._shared = folder, shared
        self._at_death: dict[str, bytes] = {}

    def path(self, node: str) -> Path:
        """A node's witness."""
        return self._folder / ("witness" if self._shared else f"witness-{node}")

    def died(self, node: str) -> None:
        """The node's process was killed."""
        # Others go on with a file that is shared.
        if not self._shared and self.path(node).exists():
            self._at_death[node] = self.path(node).read_bytes()

    def buried(self, node: str) -> None:
        """What was left of the process is gone."""
        if (content := self._at_death.pop(node, None)) is not None:
            self.path(node).write_bytes(content)
