#!/usr/bin/env python3
"""The library exports what its headers declare and nothing else, each symbol with
the version CAY_1; each public header compiles alone, as C17 and as C++17.

usage: test_symbols.py LIBRARY INCLUDE_DIRECTORY [CC [CXX]]

Exit 77 (skipped) if a tool is missing.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

VERSION = "CAY_1"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def skip(tool):
    print(f"{tool} is not there: skipped")
    sys.exit(77)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def symbols(library):
    """What the dynamic linker finds in the library, as name@@version."""
    out = run("nm", "-D", "--defined-only", "--with-symbol-versions", library)
    if out.returncode:
        sys.exit(out.stderr)
    # The linker defines a symbol with the name of each version.
    return {line.split()[-1] for line in out.stdout.splitlines()} - {VERSION}


def declared(include):
    """Functions that the public headers mark with CAY_API."""
    text = "".join(p.read_text() for p in sorted(include.glob("cay/*.h")))
    return set(re.findall(r"^CAY_API\b[^;(]*?\b(cay_\w+)\s*\(", text, re.M))


def check_symbols(library, include):
    shown = symbols(library)
    wanted = {f"{name}@@{VERSION}" for name in declared(include)}
    failures = [f"shown, not declared: {s}" for s in sorted(shown - wanted)]
    failures += [f"declared, not shown: {s}" for s in sorted(wanted - shown)]
    if not wanted:
        failures.append("no function is declared")
    return failures


def check_header(header, include, compiler, language, standard):
    """The header as the only line of a program, twice for its guard."""
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory, "alone")
        line = f"#include <{header.relative_to(include)}>\n"
        source.write_text(2 * line + "int main(void) { return 0; }\n")
        out = run(compiler, "-x", language, f"-std={standard}", *WARNINGS,
                  "-fsyntax-only", "-I", str(include), str(source))
    return [] if out.returncode == 0 else [
        f"{header.name} does not compile alone as {standard}:\n{out.stderr}"]


def check_headers(include, cc, cxx):
    headers = sorted(include.glob("cay/*.h"))
    failures = [] if headers else [f"no headers in {include}/cay"]
    for header in headers:
        failures += check_header(header, include, cc, "c", "c17")
        failures += check_header(header, include, cxx, "c++", "c++17")
    return failures


def main():
    if not 3 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    library, include = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    cc = sys.argv[3] if len(sys.argv) > 3 else os.environ.get("CC", "cc")
    cxx = sys.argv[4] if len(sys.argv) > 4 else os.environ.get("CXX", "c++")
    for tool in ("nm", cc, cxx):
        if not shutil.which(tool):
            skip(tool)
    failures = check_symbols(library, include)
    failures += check_headers(include, cc, cxx)
    print("\n".join(failures) or "symbols and headers are as they should be")
    sys.exit(1 if failures else 0)


main()
