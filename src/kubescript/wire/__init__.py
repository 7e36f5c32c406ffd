"""Messages about clusters between the host and its confined processes, and all that both sides may import."""
