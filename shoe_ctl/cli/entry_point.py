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
    if sys.argv[1:2] == ["run"] and not has_terminal():
        # logrotate's signal must not end a daemon that cannot act on it yet: systemd would call
        # that a clean end. What the signal asks for is done anyhow: the files are opened soon.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        from shoe_ctl.cli.main import main as run

        run(imported=lambda: signal.signal(signal.SIGINT, handler))
    except SystemExit:
        raise
    except BaseException as error:
        if not _is_interruption(error):
            raise
        sys.exit(_INTERRUPTED)


def has_terminal() -> bool:
    """Return True if this process has a controlling terminal, whose end SIGHUP then reports."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _is_interruption(error: BaseException | None) -> bool:
    """Return True for Ctrl-C, and for what Python 3.11 makes of it in the body of a class."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None
