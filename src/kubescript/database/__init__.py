"""The database of plans, and of what several replicas share: its connections, its errors and its tables."""
