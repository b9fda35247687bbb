"""Layer 2: one database each: connect, read and write transactions, wake-up signal, error translation.

A driver knows nothing of what revisions mean. `base` is the seam; `open_driver` chooses by the URL's scheme.
"""

from kinepy.drivers.open import open_driver

__all__ = ["open_driver"]
