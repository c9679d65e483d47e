"""The floor: a card's bytes are read, committed to SQLite with a full sync, answered, written on.

In: the names of a pty, of a socket to listen at, of a database. Out: an answer at the pty and a
line at the socket, for each chunk.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import sys
import tty

BODY = bytes(1024)
LINE = b"x" * 300 + b"\n"


def read(shoe: int) -> bytes:
    """The next bytes; none where the pty is gone."""
    try:
        return os.read(shoe, 4096)
    except OSError:
        return b""


def main() -> None:
    """Serve until the pty is gone."""
    port, path, database = sys.argv[1:]
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    shoe = os.open(port, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(shoe)
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE record (n INTEGER PRIMARY KEY, body BLOB)")
    print("ready", flush=True)
    there, _ = listener.accept()
    while chunk := read(shoe):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO record (body) VALUES (?)", (chunk + BODY,))
        connection.execute("COMMIT")
        os.write(shoe, chunk)
        there.sendall(LINE)


if __name__ == "__main__":
    main()
