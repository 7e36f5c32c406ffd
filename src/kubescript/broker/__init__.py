"""The only door to a cluster: it parses, decides, performs, masks and records each call."""
