"""What reads hostile objects beside the masker, in its process: what may pass of one, and what a write changes."""
