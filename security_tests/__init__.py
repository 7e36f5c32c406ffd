"""The wall, attacked layer by layer, each time assuming that the one before it has fallen."""
