"""Tables of text as columns, by the command's reader (libbitfold-read)."""

import ctypes
import functools
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_void_p

from ._columns import TIMES, Column, Columns, reader
from ._dtypes import NAMES
from ._library import ArgumentError, DeviceError, FileError

_FAILURES = {1: FileError, 4: DeviceError}  # by the command's exit codes; others are of what was given
_COMMAND = "bitfold read: "
_lock = threading.Lock()  # the reader takes one call at a time


class _ReadColumn(ctypes.Structure):
    """bitfold_read_column"""

    _fields_ = [
        ("name", c_char_p), ("dtype", c_int), ("scale", c_int), ("time", c_int), ("nulls", c_int64),
        ("numbers", c_void_p), ("offsets", c_void_p), ("bytes", c_void_p), ("utf8", c_int),
        ("valid", c_void_p),
    ]  # fmt: skip


class _ReadTable(ctypes.Structure):
    """bitfold_read_table"""

    _fields_ = [("rows", c_int64), ("count", c_int), ("columns", POINTER(_ReadColumn))]


_TAKE = ctypes.CFUNCTYPE(c_int64, c_void_p, POINTER(_ReadTable))  # bitfold_read_take
ALL, STOP, AGAIN = 1 << 62, 0, -1  # what it returns, beside a number of rows


@functools.lru_cache(maxsize=None)
def _reader():
    library = reader()
    library.bitfold_read.argtypes = [
        c_int, POINTER(c_char_p), c_char_p, _TAKE, c_void_p, POINTER(c_void_p),
    ]  # fmt: skip
    library.bitfold_read_free.argtypes = [POINTER(_ReadTable)]
    library.bitfold_read_free.restype = None
    library.bitfold_read_views.argtypes = [c_int64, *[c_void_p] * 4]
    library.bitfold_read_views.restype = None
    return library


def strings_of_views(n, views, buffers):
    """Returns the offsets and the bytes of n strings of Arrow's that are views into buffers."""
    function, offsets = _reader().bitfold_read_views, (c_int64 * (n + 1))()
    function(n, views, buffers, offsets, None)
    data = ctypes.create_string_buffer(max(offsets[n], 1))
    function(n, views, buffers, offsets, data)
    return offsets, data


_free = ctypes.CDLL(None).free
_free.argtypes = [c_void_p]
_free.restype = None


class _Owner:
    """Frees what was read, when no column has it any more."""

    def __init__(self, pointer, free):
        self.pointer, self._free = pointer, free

    def __del__(self):
        self._free(self.pointer)


def _column(read, n, owner):
    if read.dtype:
        kind, data = TIMES.get(read.time) or NAMES[read.dtype], (read.numbers,)
    else:
        kind, data = "string" if read.utf8 else "binary", (read.offsets, read.bytes)
    name = read.name.decode(errors="replace")
    return Column(name, kind, n, (read.valid, *data), owner, read.scale, read.nulls)


def _fail(code, message):
    text = ctypes.string_at(message).decode(errors="replace") if message else "out of memory"
    _free(message)
    lines = [line[len(_COMMAND) :] if line.startswith(_COMMAND) else line for line in text.splitlines()]
    raise _FAILURES.get(code, ArgumentError)("\n".join(lines))


def _columns(table):
    owner, read = _Owner(table, _reader().bitfold_read_free), table.contents
    return Columns([_column(read.columns[i], read.rows, owner) for i in range(read.count)], read.rows)


def _read(arguments, also, take):
    """Gives `take` the rows of the table that the arguments of a command line ask for."""
    library, message, raised = _reader(), c_void_p(), []
    encoded = [os.fsencode(each) for each in (*arguments, also or "")]
    if any(b"\0" in each for each in encoded):
        raise ArgumentError("a zero byte stands in no option and no path")
    given = (c_char_p * len(encoded))(*encoded[:-1], None)

    @_TAKE
    def call(_, table):
        try:
            return take(_columns(table) if table else None)
        except BaseException as error:
            raised.append(error)
            return STOP

    with _lock:
        code = library.bitfold_read(len(arguments), given, encoded[-1] or None, call, None, byref(message))
    if raised:
        raise raised.pop()
    if code:
        _fail(code, message.value)


# ---- arguments ------------------------------------------------------------------------------------


def _quoted(name):
    """Returns a column's name, or its number, as the command takes it."""
    if isinstance(name, int):
        return str(name)
    if not isinstance(name, str):
        raise ArgumentError(f"a column is a name, or a number from 1 on, not {name!r}")
    return "`" + name.replace("`", "``") + "`"


def _names(names):
    return ",".join(map(_quoted, [names] if isinstance(names, (str, int)) else names))


def _words(words):
    return words if isinstance(words, str) else ",".join(words)


_TAKEN = {
    "columns": ("column", _names), "where": ("where", str), "text": ("text", _names),
    "number": ("number", _names), "null": ("null", _words), "delimiter": ("delimiter", str),
    "comment": ("comment", str), "skip_lines": ("skip-lines", str), "encoding": ("encoding", str),
    "escape": ("escape", str), "thousands": ("thousands", str), "decimal": ("decimal", str),
    "format": ("format", str), "threads": ("threads", str), "memory": ("memory", str),
}  # fmt: skip


def options_of(header=None, lax=False, **given):
    """Returns the options of the command that keywords stand for."""
    found = [] if header is None else ["--header" if header else "--no-header"]
    found += ["--lax"] if lax else []
    for name, value in given.items():
        if value is not None:
            option, write = _TAKEN[name]
            found.append(f"--{option}={write(value)}")
    return found


def _copied(file, stack):
    """Returns a file with all that a file object without a descriptor gives."""
    import tempfile  # it takes long to load

    made = stack.enter_context(tempfile.TemporaryFile())
    data = file.read()
    made.write(data.encode() if isinstance(data, str) else data)
    made.flush()
    return made.fileno()


def _path(file, stack):
    """Returns the path of a file, which a path names or a file object stands for."""
    if not hasattr(file, "read"):
        return os.fspath(file)
    try:
        number = file.fileno()
    except (AttributeError, OSError):
        number = _copied(file, stack)
    return f"/dev/fd/{number}"


def read_rows(path, options, take, also=None):
    """Gives `take` the rows of a table of text as Columns, as many at least as it returned, which is ALL for the rest,
    STOP, or AGAIN to begin with the first rows anew. Before these it gets None, again where later rows show that
    those before them do not count. also: names of columns that are read where there are some."""
    import contextlib  # it takes long to load

    several = isinstance(path, (list, tuple))
    with contextlib.ExitStack() as stack:
        files = [_path(each, stack) for each in (path if several else [path])]
        _read([*options, "--", *files], also and _names(also), take)


def _rows_of(path, options):
    """Returns all rows of a table of text."""
    found = []

    def take(rows):
        found[:] = [rows]
        return ALL

    read_rows(path, options, take)
    return found[0]


def read_csv(
    path, columns=None, where=None, *, text=None, number=None, null=None, delimiter=None, header=None,
    comment=None, skip_lines=None, encoding=None, escape=None, thousands=None, decimal=None,
    lax=False, format=None, threads=None, memory=None,
):  # fmt: skip
    """Returns the columns of a table of text as bitfold.Columns, by the reader of the command: CSV and its
    kin, or JSON lines, compressed or not.

    path: a path, a file object, which is read from the start of its file, or a list of several, which are one
    table. columns: names, or numbers from 1 on, of the columns that are wanted; None: all. where: only rows
    that meet this condition, an expression as in "price > 10 && city == 'Rome'".

    A column is of integers, exact decimals, floats, dates, times or strings, whatever all of its fields are;
    codes as 007 are strings. text and number: columns that are strings, or numbers, whatever their fields are.
    null: the fields that hold no value (the empty one), a list or a str with commas between.
    delimiter: what separates fields (found in the first row). header: whether the first row holds names
    (None: if all in it look like names). comment: the character that begins lines to pass over. skip_lines:
    how many of the first lines. encoding: "utf-8", "utf-16" or "latin-1". escape: a character that takes the
    meaning of the next. thousands, decimal: how numbers are written. lax: rows may have fewer fields than
    the first, or more. format: "text" or "jsonl". threads: how many read. memory: bytes, as in "1G".

    Errors: FileError (cannot be read), ArgumentError (an option or the data are refused; the message names
    the line).

    >>> import io
    >>> bitfold.read_csv(io.StringIO("city,price\\nRome,1.5\\nOslo,20\\n"), where="price > 2")["city"]
    Column('city', ['Oslo'], dtype='string')
    """
    options = options_of(
        header, lax, columns=columns, where=where, text=text, number=number, null=null,
        delimiter=delimiter, comment=comment, skip_lines=skip_lines, encoding=encoding, escape=escape,
        thousands=thousands, decimal=decimal, format=format, threads=threads, memory=memory,
    )  # fmt: skip
    return _rows_of(path, options)
