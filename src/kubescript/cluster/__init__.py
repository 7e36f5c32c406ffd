"""Live API servers: how they are found, trusted and asked."""
