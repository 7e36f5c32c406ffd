"""Runs untrusted Python in a process that can reach only its host."""
