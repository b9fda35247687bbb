"""Types of the API: their tables, and decoders compiled from them."""
