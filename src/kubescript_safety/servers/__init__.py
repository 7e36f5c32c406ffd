"""The servers under test: how each is started, and what its tools cost a model."""
