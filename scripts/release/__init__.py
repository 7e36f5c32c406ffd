"""What a release of kubescript is made of: `python -m scripts.release dist`."""
