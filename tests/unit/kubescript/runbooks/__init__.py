"""Tests of the runbooks."""
