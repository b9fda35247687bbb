"""Regular expressions in time linear to the text: RE2, as in the original."""

from functools import lru_cache
from typing import Any

import re2

from kinepy_server.cel.errors import EvaluationError


@lru_cache(maxsize=2048)
def compiled(pattern: str) -> Any:
    """A compiled expression; raises EvaluationError when it is none."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise EvaluationError(f"error parsing regexp: {error.args[0] if error.args else ''}") from None
