"""Tests of found clusters."""
