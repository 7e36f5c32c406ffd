"""What many runs say together: rates, side by side for each server, as JSON, as JUnit, and as a page."""
