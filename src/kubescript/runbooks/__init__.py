"""Runbooks: scripts that people have reviewed, pinned by hash, which other scripts call by name."""
