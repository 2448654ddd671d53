"""One module per command: `add_parser(commands)` sets `run`, `run(arguments)` returns the exit code.

Modules import what they run lazily, so that `--help` answers at once.
"""
