"""Finds and replaces secrets in bytes, in a process that can reach only its host."""
