"""The only way to a cluster: the broker parses, decides, performs, masks and records each call."""
