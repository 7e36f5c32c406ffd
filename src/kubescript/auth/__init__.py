"""Who is calling, and what they may do: proven by tokens and certificates, told as `user.User`."""
