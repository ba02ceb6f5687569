"""Where softgate meets a framework's tensors: one module each, loaded when a tensor arrives."""
