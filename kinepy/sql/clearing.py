"""The statements that empty a database, so that another state can be put in its place."""

from typing import Final

import sqlalchemy as sa
from sqlalchemy.sql.elements import ClauseElement

from kinepy.sql.tables import head, lease, lease_batch, log

CLEAR: Final[tuple[ClauseElement, ...]] = tuple(sa.delete(table) for table in (head, log, lease, lease_batch))
"""All that is stored. Epochs and floors stay: they never go back."""
