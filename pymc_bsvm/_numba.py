"""What goes wrong in Numba: it cannot keep compiled code, names meet, or Ctrl-C does there."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import numba
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler_lock import global_compiler_lock

__all__ = ["check_cache", "explained_numba", "names_of_their_own"]


def check_cache() -> None:
    """Raise ``ImportError`` if there is no folder that Numba may write to."""
    try:
        numba.njit(cache=True)(_nothing)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        raise ImportError(
            "Numba finds no folder to keep compiled code in: neither beside the package nor in the "
            "home directory may it write. Set the environment variable NUMBA_CACHE_DIR to a folder "
            "that can be written."
        ) from error


def _nothing() -> None:
    """Do nothing."""


@contextmanager
def names_of_their_own() -> Iterator[None]:
    """Let functions that are compiled have names in machine code that no other process gives.

    Numba counts them. What two processes kept on disk may then hold two functions of one name, of
    which a third process would take one for both. PyTensor does the same, for good, as soon as its
    models are compiled. No other thread compiles in the meantime.
    """
    with global_compiler_lock:
        counter, ours = FunctionIdentity._unique_ids, iter(lambda: uuid.uuid4().int, None)
        if isinstance(counter, itertools.count):
            FunctionIdentity._unique_ids = ours
        try:
            yield
        finally:
            if FunctionIdentity._unique_ids is ours:  # else PyTensor was imported here
                FunctionIdentity._unique_ids = counter


@contextmanager
def explained_numba() -> Iterator[None]:
    """Say what to do where Numba fails to read or to write compiled code.

    An interruption by the keyboard that arrives in compiled code is one again.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        folder = _cache_of(error.__traceback__)
        if folder is None:
            raise
        if isinstance(error, OSError):
            raise OSError(
                error.errno,
                f"Numba cannot keep compiled code in {folder}: {error.strerror}. Free space there, "
                "or set the environment variable NUMBA_CACHE_DIR to another folder.",
            ) from error
        raise RuntimeError(
            f"Numba cannot read the compiled code in {folder}, which seems to be damaged "
            f"({type(error).__name__}). Delete that folder; it is filled again."
        ) from error


def _cache_of(traceback: TracebackType | None) -> str | None:
    """Return the folder that Numba was reading or writing when an error was raised."""
    folder = None
    while traceback is not None:
        frame = traceback.tb_frame
        if Path(frame.f_code.co_filename).parts[-3:] == ("numba", "core", "caching.py"):
            known = getattr(frame.f_locals.get("self"), "_cache_path", None)
            folder = known or folder or "its cache"
        traceback = traceback.tb_next
    return folder


check_cache()
