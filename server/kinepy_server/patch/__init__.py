"""The patch formats, as pure functions on JSON values."""
