"""What may be written: rules over requests, over what they change, and over how a cluster is changed."""
