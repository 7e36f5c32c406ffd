"""Values that scripts see: numbers, times, names and exceptions, and the generated tables of the API."""
