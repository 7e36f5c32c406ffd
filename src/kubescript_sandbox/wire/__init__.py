"""Shared by both sides: the protocol and its frames."""
