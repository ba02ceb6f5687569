"""How each framework's functions become timed calls; a module is imported in its own process only.

A module has `start(threads)`, which sets the threads before anything runs and returns what to say
about them, and `make(peer, task)`, which returns a `Contestant` or raises.
"""
