"""Runs a module as a command, and ends it by SIGTERM once its standard input does: then its parent is gone.

However the parent went, SIGKILL included, the command still tidies up.
"""

import os
import runpy
import signal
import sys
from threading import Thread


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    Thread(target=_end_with_parent, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
