"""A graph in another form: LLVM kernels, exact and float64 evaluation, source code, LaTeX."""
