"""Translations of a graph: LLVM kernels, exact and float64 evaluation, source code, LaTeX."""
