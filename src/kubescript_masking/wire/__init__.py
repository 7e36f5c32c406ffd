"""What both sides say to each other, and how bytes are cut: all that both import."""
