"""The clusters that API calls go to: a live API server, or a saved snapshot of one."""
