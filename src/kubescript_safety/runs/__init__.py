"""Runs: a scenario, a server and an agent are put together, and everything that happens is written down."""
