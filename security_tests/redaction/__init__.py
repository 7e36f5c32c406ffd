"""What measures redaction: a labelled corpus made by a seeded generator, and the judge of what leaks and what is harmed."""
