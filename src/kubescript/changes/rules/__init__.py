"""Rules about writes: over requests, over their changes, and over how a cluster is changed."""
