#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Renders the manual pages and checks what a reader sees.

usage: manual.py --version VERSION PAGE...

Each page is rendered by every formatter that is installed, mandoc and groff (the
one of man-db):

  * the header has the name and section of the page, and no foreign system;
  * the footer has the name and version of the project, on both sides;
  * no bracket opens inside a list of errors: [EPROTO, [EBADMSG]];
  * no quotation opens inside another one;
  * no macro and no @VARIABLE@ is left in the text.

Exit status 77: no formatter is installed.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

FORMATTERS = {
    "mandoc": ["mandoc", "-T", "utf8"],
    "groff": ["groff", "-mandoc", "-K", "utf8", "-T", "utf8", "-P", "-c", "-rLL=78n"],
}
# Macros that are no English words.
MACRO = re.compile(r"(?<![\w-])(Ns|Fl|Ar|Dv|Er|Va|Vt|Fa|Fn|Xr|Bq|Pq|Sq|Ql|Li|Nm"
                   r"|Ta|Fo|Fc|Ft)(?![\w-])")


def render(argv, page):
    done = subprocess.run([*argv, str(page)], capture_output=True, text=True,
                          check=True, timeout=60)
    # Bold is a character over itself, underlined text over an underscore.
    lines = re.sub(r".\x08", "", done.stdout).splitlines()
    return [line for line in lines if line.strip()]


def complaints(page, lines, version):
    name = f"{page.stem.upper()}({page.suffix[1:]})"
    header, footer = lines[0].split(), lines[-1].strip()
    if header[0] != name or header[-1] != name:
        yield f"the header is '{lines[0].strip()}'"
    if re.search(r"\b(BSD|Debian|Linux|GNU)\b", lines[0]):
        yield f"the header names another system: '{lines[0].strip()}'"
    project = f"Cay {version}"
    if not footer.startswith(project) or not footer.endswith(project):
        yield f"the footer is '{footer}'"
    for line in lines[1:-1]:
        if re.search(r"\[\[|\[E[A-Z0-9]+, *\[|\]\]\]", line):
            yield f"nested brackets: '{line.strip()}'"
        if re.search("\u2018[^\u2019]*\u2018", line):
            yield f"nested quotes: '{line.strip()}'"
        if MACRO.search(line):
            yield f"a macro in the text: '{line.strip()}'"
        if re.search(r"@[A-Z]+@", line):
            yield f"a variable in the text: '{line.strip()}'"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    options = parser.parse_args()

    installed = {name: argv for name, argv in FORMATTERS.items()
                 if shutil.which(argv[0])}
    if not installed:
        print("neither mandoc nor groff is installed")
        sys.exit(77)
    failed = 0
    for page in options.pages:
        for name, argv in installed.items():
            for text in complaints(page, render(argv, page), options.version):
                print(f"{page.name}, {name}: {text}")
                failed += 1
    print(f"{len(options.pages)} pages, {' and '.join(installed)}: "
          f"{failed} complaints")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
