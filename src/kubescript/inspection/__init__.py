"""Code that reads hostile objects in the masker's process: what may pass of one, and what a write changes."""
