"""How the person at a client is asked."""
