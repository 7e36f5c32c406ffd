"""The capture of a cluster: it is saved to disk, through the broker, as a snapshot that can be served later."""
