"""Formulas as data: expression graphs, tracing, derivatives, rewriting and number formats."""
