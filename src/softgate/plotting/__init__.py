"""Curves, colours and figures."""
