"""What both sides say to each other: the protocol and its frames."""
