"""Differential probes of `triton_python_backend_utils`: what a real Triton 24.10 answered, and what ours does."""
