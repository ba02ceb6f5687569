"""Which function is it? Values at some hundred points, compared with the whole catalogue."""
