"""The real servers that the tests of sources query, each with exactly the data that a test gives it."""
