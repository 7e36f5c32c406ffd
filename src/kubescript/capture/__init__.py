"""Captures a cluster: saves it to disk, through the broker, as a snapshot that can be served later."""
