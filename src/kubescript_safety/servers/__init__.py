"""The servers under test: how each is started."""
