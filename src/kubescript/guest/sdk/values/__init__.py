"""What scripts see by itself: numbers, times, names and exceptions, and the generated tables of the API."""
