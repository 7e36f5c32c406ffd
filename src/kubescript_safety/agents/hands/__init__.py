"""A scripted agent's actions, as calls of the tools that each kind of server has."""
