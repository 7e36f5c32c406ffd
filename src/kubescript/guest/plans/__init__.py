"""Scripts that the host runs for plans: which objects deletions also affect, and how applied changes ended."""
