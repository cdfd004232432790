"""``python -m triton_pyb.cli``: the command, also where the package is not installed."""

from triton_pyb.cli import main

main(prog_name="triton-pyb")
