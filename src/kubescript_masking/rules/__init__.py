"""What counts as a secret: names, values, the words around them, shapes of tokens, places in command lines."""
