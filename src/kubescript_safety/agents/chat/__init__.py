"""Agents that are chat models, reached through OpenAI's chat completions or Anthropic's messages."""
