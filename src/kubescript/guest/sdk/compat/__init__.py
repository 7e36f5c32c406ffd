"""The virtual package `kubernetes`, by the names of the official client."""
