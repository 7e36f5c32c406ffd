"""Owns what a script sees of Kubernetes: API classes, lazy objects and the virtual `kubernetes` module."""
