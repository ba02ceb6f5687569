"""What a function is: expression graphs, tracing, derivatives, rewriting and number formats."""
