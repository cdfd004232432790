"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# A busy machine must not turn a property red; 40 examples keep the whole of the properties within seconds.
settings.register_profile("triton_pyb", deadline=None, max_examples=40)
settings.load_profile("triton_pyb")
