"""The command `rego-platform`, with the exit statuses and the signals of the binary."""

import os
import signal
import sys

from . import _native


def main():
    # A handler of Python's runs between its instructions, and so after the command.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    # As when a binary ends: nothing that still runs is waited for.
    os._exit(_native.run_command(sys.argv))
