"""Kubernetes as a script sees it: API classes, lazy objects and the virtual `kubernetes` module."""
