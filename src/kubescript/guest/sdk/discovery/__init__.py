"""Which kinds a cluster serves, what their fields mean, and the client that reaches any of them."""
