"""Code that reads hostile objects in the masker's process, to determine which part of one may pass, and what a write
changes."""
