"""Agents that talk to a server under test: scripts, chat models, and the proxy for any other client."""
