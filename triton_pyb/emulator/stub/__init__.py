"""The stub process and its `triton_python_backend_utils`, rebuilt from what real Triton does.

Python 3.8, numpy and the standard library only, and only relative imports: a child process loads this folder
under the private name ``_triton_pyb_stub``, so that a model's own modules, its packaged `triton_pyb` among
them, never meet ours.
"""
