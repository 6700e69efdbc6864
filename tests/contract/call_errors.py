#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every error number in the comment of a call has its own text for that call.

usage: call_errors.py LIBRARY INCLUDE

Parses the public headers. "As cay_send()" in the comment of a call adds the errors of
that call; the comment at the head of remote.h is that of all accesses.
"""
import ctypes
import errno
import pathlib
import re
import sys

ACCESSES = ["cay_put", "cay_put_masked", "cay_get", "cay_fetch_add",
            "cay_compare_swap", "cay_fetch_add_into", "cay_compare_swap_into"]


def errnos(comment):
    names = re.findall(r"(?<![A-Z_])-?(E[A-Z0-9]{3,})\b", comment)
    return {name for name in names if hasattr(errno, name)}


def calls_of(header):
    """Yields the names of the calls under a comment, and the comment."""
    text = header.read_text()
    pattern = r"/\*((?:(?!\*/).)*)\*/\s*((?:CAY_API[^;]*;\s*)+)"
    for comment, declarations in re.findall(pattern, text, re.S):
        yield re.findall(r"\b(cay_\w+)\(", declarations), comment
    if header.name == "remote.h":
        yield ACCESSES, re.search(r"/\*\n \* Remote memory.*?\*/", text,
                                  re.S).group(0)


def documented(include):
    found, previous = {}, set()
    for header in sorted(include.glob("cay/*.h")):
        for calls, comment in calls_of(header):
            errors = errnos(comment)
            for base in re.findall(r"[Aa]s (cay_\w+)\(\)", comment):
                errors |= found.get(base, set())
            if "As above" in comment:
                errors |= previous
            for call in calls:
                found.setdefault(call, set()).update(errors)
            previous = errors
    return found


def main():
    library = ctypes.CDLL(sys.argv[1])
    for name in ("cay_strerror", "cay_call_strerror"):
        getattr(library, name).restype = ctypes.c_char_p
    failed = 0
    calls = documented(pathlib.Path(sys.argv[2]))
    pairs = [(call, name) for call in calls for name in sorted(calls[call])]
    for call, name in pairs:
        number = getattr(errno, name)
        general = library.cay_strerror(number)
        for sign in (1, -1):
            text = library.cay_call_strerror(call.encode(), sign * number)
            if not text or text == general:
                print(f"{call}: {name} has no text of its own")
                failed = 1
                break
    # Names that are no call, and errors that no call has, get the general text.
    for call in (None, b"", b"open", b"cay_nothing_of_the_kind"):
        text = library.cay_call_strerror(call, errno.EISDIR)
        if text != library.cay_strerror(errno.EISDIR):
            print(f"{call}: {text} for EISDIR")
            failed = 1
    print(f"{len(pairs)} errors of {len(calls)} calls")
    if len(pairs) < 150:
        print("the headers were not parsed")
        failed = 1
    return failed


sys.exit(main())
