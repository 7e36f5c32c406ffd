"""The page on which a person approves a plan."""
