"""What the host runs for plans, as scripts of its own: what deletions take with them, what became of an application."""
