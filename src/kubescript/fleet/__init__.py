"""Clusters that are found, not listed: where they are looked for, and what is known of each."""
