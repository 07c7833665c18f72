"""Mistakes that users make, and the sentences with which the library must answer them."""
