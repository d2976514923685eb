"""Sessions of AI coding agents: read, continue, convert, migrate and repair them.

>>> import copyist
>>> s = copyist.in_memory("pi", "/work")
>>> s.append_message({"role": "user", "content": "Hello"}) == s.leaf
True
>>> [m["role"] for m in s.messages()]
['user']
"""

from ._copyist import (
    CopyistError,
    RecordStream,
    Session,
    convert,
    detect,
    migrate,
    read_arrow,
    repair,
    run,
    validate,
)

from .rows import export, read_rows

open = Session.open
create = Session.create
in_memory = Session.in_memory
continue_recent = Session.continue_recent


def list(paths, *, threads=0):
    """List the sessions in files and folders: path, format and what was found.

    >>> s = copyist.create("pi", "/work", "listed")
    >>> hello = s.append_message({"role": "user", "content": "Hello"})
    >>> [session["format"] for session in copyist.list("listed")]
    ['pi@3']
    """
    return [report for report in detect(paths, threads=threads) if report["outcome"] == "detected"]


__all__ = [
    "CopyistError",
    "RecordStream",
    "Session",
    "continue_recent",
    "convert",
    "create",
    "detect",
    "export",
    "in_memory",
    "list",
    "migrate",
    "open",
    "read_arrow",
    "read_rows",
    "repair",
    "run",
    "validate",
]
