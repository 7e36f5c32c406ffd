"""Where API calls go: a live API server, or a saved snapshot of one."""
