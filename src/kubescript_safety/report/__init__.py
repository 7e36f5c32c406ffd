"""Reports on many runs: rates for each server, as JSON, as JUnit, and as a page."""
