"""Scripts that the host runs for plans: what changes do to other objects, and how applied changes ended."""
