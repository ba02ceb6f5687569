"""Tests. A package, so that pytest does not add this folder to sys.path, with `torch` in it."""
