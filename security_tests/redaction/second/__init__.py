"""A second held-out part: files, pods, objects and logs by experience of what real clusters hold, not from the other parts."""
