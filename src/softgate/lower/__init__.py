"""Where a graph runs: each module here turns one graph into one kind of executable thing."""
