"""Turns a scripted agent's actions into calls of the tools that each kind of server has."""
