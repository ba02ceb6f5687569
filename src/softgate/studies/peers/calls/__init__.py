"""Timed calls, one module per framework; see `timed_call`."""
