"""What a scripted agent does, as calls of the tools that each kind of server has."""
