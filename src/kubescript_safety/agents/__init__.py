"""Agents: whoever works on a task with the tools of a server."""
