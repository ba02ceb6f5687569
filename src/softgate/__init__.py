"""softgate."""
