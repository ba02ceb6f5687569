"""What is wrong with a network's units: what was counted while it ran, and what that means."""
