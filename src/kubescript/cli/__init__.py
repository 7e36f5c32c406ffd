"""What a person types: the commands of `kubescript`."""
