"""Tests of the stub half of the emulator, one file per module."""
