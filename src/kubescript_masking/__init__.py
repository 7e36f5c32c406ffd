"""Finds secrets in bytes and replaces them, in a process that can reach nothing but its host."""
