"""How text is read, whatever is secret in it: patterns in linear time, places, strings of JSON, encodings."""
