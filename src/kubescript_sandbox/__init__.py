"""Runs untrusted Python in a process that can reach nothing but its host."""
