"""Decides what counts as a secret: by names, values, surrounding words, shapes of tokens and places in command
lines."""
