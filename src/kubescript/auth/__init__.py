"""Who is calling, and what they may do. Tokens and certificates prove it; a `user.User` says it."""
