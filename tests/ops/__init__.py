"""Tests of the Ops."""
