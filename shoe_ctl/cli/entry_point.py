"""The installed command ``shoectl``: it imports the command line, and then runs it.

Must not import, at its top, anything that takes time: Ctrl-C is not quiet before this is loaded.
"""

import os
import signal
import sys

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly while it is still being imported, too."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:  # not where a parent has Ctrl-C ignored
        # An exception would be lost in a callback of an import, with its traceback shown.
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    try:
        from shoe_ctl.cli.main import main as run

        run(imported=lambda: signal.signal(signal.SIGINT, handler))
    except SystemExit:
        raise
    except BaseException as error:
        if not _is_interruption(error):
            raise
        sys.exit(_INTERRUPTED)


def _is_interruption(error: BaseException | None) -> bool:
    """Return True for Ctrl-C, and for what Python 3.11 makes of it in the body of a class."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None
