"""The targets of API calls: a live API server, or a saved snapshot of one."""
