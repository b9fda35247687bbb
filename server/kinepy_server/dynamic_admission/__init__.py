"""Dynamic admission: what policies and webhooks, which are objects themselves, say of every write."""
