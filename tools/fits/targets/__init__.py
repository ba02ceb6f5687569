"""What the fits approximate, one module per family, each with `derive() -> dict[str, Fit]`."""
