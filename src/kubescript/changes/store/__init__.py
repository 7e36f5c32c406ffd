"""Where plans are kept."""
