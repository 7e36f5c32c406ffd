"""The store of plans."""
