"""Real OpenStack services for tests: Keystone, Glance and Placement from PyPI."""
