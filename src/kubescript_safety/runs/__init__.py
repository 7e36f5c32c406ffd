"""Runs: a scenario, a server and an agent are combined, and everything that happens is recorded."""
