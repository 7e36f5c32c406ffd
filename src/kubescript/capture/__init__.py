"""Saves a cluster to disk, through the broker, as a snapshot that can be served later."""
