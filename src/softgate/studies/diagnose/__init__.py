"""Diagnosis of a model's units: figures of its activations on data, and findings."""
