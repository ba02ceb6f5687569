"""Running functions on arrays: kernels, dispatch, threads, `Activation`, names, records."""
