"""The untrusted side: the process that runs one script, and the fork server that forks it."""
