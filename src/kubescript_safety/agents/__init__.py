"""What talks to a server under test: scripted agents, chat models, and the proxy for any other client."""
