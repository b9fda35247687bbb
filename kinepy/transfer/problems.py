"""What can be wrong with a file."""


class BadTransfer(Exception):
    """The file cannot be used, or may not be written. The text is one line and says what to do; nothing was changed."""
