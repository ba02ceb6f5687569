"""What the report shows and no other study measures: curves, printed tables, approximations."""
