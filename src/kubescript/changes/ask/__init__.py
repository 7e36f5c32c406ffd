"""Questions to the person at a client."""
