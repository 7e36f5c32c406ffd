"""What a script sees: API classes, lazy objects and the virtual `kubernetes` module. Runs on the untrusted side."""
