#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the documents against the tree.

usage: coverage.py --source ROOT [--cay FILE]

  * every public call has a manual page, and a link with its name;
  * the errors in the comment of a call are in the ERRORS of its page;
  * every public constant, structure member and error text is in a manual page;
  * references between manual pages have a target;
  * with --cay: the options in the --help of each command are those in cay(1),
    cay-top(1), ...;
  * the error messages in cay(1) and cay-top(1) are those of src/cli;
  * links in Markdown files have a target;
  * files, functions, structures and constants that Markdown files name exist; where a
    table has both in a row, the file contains the functions;
  * the README of a source folder names exactly its files;
  * the version of the project is written once, in include/cay/version.h;
  * the size of an arena in the documents is NODE_ARENA_BYTES;
  * the program in README.md is examples/hello.c;
  * examples/README.md lists the programs of examples.
"""
import argparse
import pathlib
import re
import subprocess

from complaints import complain, finish

COMMANDS = [["demo"], ["send"], ["recv"], ["node"], ["node", "status"],
            ["node", "list"], ["node", "fence"], ["node", "serve"], ["top"],
            ["bench"], ["trace"], ["trace", "record"], ["trace", "replay"],
            ["trace", "show"], ["trace", "random"], ["sim"], ["explain"],
            ["doctor"], ["completion"]]
STRUCTURES = {"cay_port_options": "cay_port.3", "cay_stats": "cay_port.3",
              "cay_event": "cay_poll.3", "cay_answer": "cay_raw.3",
              "cay_key": "cay_window.3",
              "cay_window_descriptor": "cay_contract.7",
              "cay_posted_receive": "cay_contract.7"}
# Masks and shifts: the pages describe the layout without these names.
PLUMBING = re.compile(r"_(SHIFT|MASK|COUNT|MAX|WORDS|BYTES|LINE)$|"
                      r"^CAY_(NQE|VCI)_WORD_|^CAY_COMMAND_|^CAY_VCI_FLAGS$|"
                      r"^CAY_[A-Z]+_H$|^CAY_(API|STATIC_ASSERT|LINE|WORDS|VERSION_TEXT_?)$")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


class Manual:
    def __init__(self, source):
        self.pages = {path.name: path.read_text()
                      for path in sorted((source / "man").glob("*.[1-9]"))}
        build = (source / "man" / "meson.build").read_text()
        links = build[build.index("manual_links"):]
        self.links = set(re.findall(r"'(cay_\w+)'", links))
        listed = set(re.findall(r"'([\w.-]+\.[1-9])'", build))
        for name in sorted(set(self.pages) ^ listed):
            complain(f"{name} is not both in man and in man/meson.build")
        self.text = "\n".join(self.pages.values())

    def names(self, word):
        return re.search(rf"\b{re.escape(word)}\b", self.text) is not None

    def has_page(self, name, section):
        return f"{name}.{section}" in self.pages or \
            (section == "3" and name in self.links)


def check_calls(headers, manual):
    calls = re.findall(r"CAY_API[^;(]*?\b(cay_\w+)\(", headers)
    if not calls:
        complain("include/cay declares no public call")
    for call in calls:
        if not re.search(rf"^\.F[no] {call}\b", manual.text, re.M):
            complain(f"{call}() has no synopsis in a manual page")
        if not manual.has_page(call, "3"):
            complain(f"{call}() has no link in man/meson.build")


def check_headers(source):
    """All public headers are installed."""
    installed = (source / "include/meson.build").read_text()
    for header in sorted((source / "include/cay").glob("*.h")):
        if f"'cay/{header.name}'" not in installed:
            complain(f"include/meson.build does not install {header.name}")


def check_errnos(source, manual):
    """Of each comment that precedes a declaration."""
    call = re.compile(r"/\*((?:(?!\*/).)*)\*/\s*CAY_API[^;(]*?\b(cay_\w+)\(",
                      re.S)
    for header in sorted((source / "include/cay").glob("*.h")):
        for comment, name in call.findall(header.read_text()):
            for page, text in manual.pages.items():
                if not re.search(rf"^\.F[no] {name}\b", text, re.M):
                    continue
                listed = set(re.findall(r"\bEr (E[A-Z]+)",
                                        text[text.index(".Sh ERRORS"):]))
                for error in set(re.findall(r"-(E[A-Z]{3,})\b", comment)):
                    if error not in listed:
                        complain(f"{page}: {name}() can return {error}")


def check_constants(headers, manual):
    constants = set(re.findall(r"^\s*(CAY_[A-Z0-9_]+)\s*(?:=|,)", headers,
                               re.M))
    constants |= set(re.findall(r"^#define (CAY_[A-Z0-9_]+)\b", headers, re.M))
    for name in sorted(constants):
        if not PLUMBING.search(name) and not manual.names(name):
            complain(f"{name} is in no manual page")


def check_members(headers, manual):
    for structure, page in STRUCTURES.items():
        body = re.search(rf"struct {structure} \{{(.*?)\n\}};", headers, re.S)
        if not body:
            complain(f"struct {structure} was not found")
            continue
        for declaration in re.sub(r"\[\w+\]", "", body.group(1)).split(";"):
            names = re.sub(r"^.*?(?=[\w*]+(\s*,|\s*$))", "",
                           declaration.strip(), count=1, flags=re.S)
            for name in set(re.findall(r"\w+", names)) - {"reserved"}:
                if not re.search(rf"\b{name}\b", manual.pages[page]):
                    complain(f"{structure}.{name} is not in {page}")


def check_errors(source, manual):
    text = (source / "src/contract/names.c").read_text()
    page = manual.pages["cay_contract.7"]
    found = re.findall(
        r'\[(CAY_ERROR_\w+)\] = \{\s*"(\w+)",\s*((?:"[^"]*"\s*)+)\}', text)
    if not found:
        complain("names.c contains no error text")
    for code, name, sentence in found:
        sentence = "".join(re.findall(r'"([^"]*)"', sentence))
        sentence = sentence[0].upper() + sentence[1:] + "."
        if f"Dv {code} Pq Li {name}\n{sentence}\n" not in page:
            complain(f"cay_contract.7 does not have the text of {code} in names.c")


def check_references(manual):
    for name, text in manual.pages.items():
        for page, section in re.findall(r"^\.Xr (cay[\w-]*) (\d)", text, re.M):
            if not manual.has_page(page, section):
                complain(f"{name} refers to {page}({section}), which does not exist")


def check_options(cay, manual):
    page = "\n".join(text for name, text in manual.pages.items()
                     if name.endswith(".1"))
    documented = set()
    for run in re.findall(r"^\..*Fl (-.*)$", page, re.M):
        documented |= {f"-{o}" for o in re.findall(r"(?:^|\s)(-[a-z-]+)", run)}
    said = {"--help", "--version"}
    for command in COMMANDS:
        help_text = subprocess.run(
            [cay, *command, "--help"], capture_output=True, text=True,
            timeout=20, check=True).stdout
        options = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", help_text))
        said |= options
        for option in sorted(options - documented):
            complain(f"cay {' '.join(command)} {option} is in no manual page")
    for option in sorted(documented - said):
        complain(f"{option} is in a manual page, but no command has it")


def check_diagnostics(source, manual):
    """Compares the longest part of a message without arguments."""
    sources = "\n".join(path.read_text() for path in
                        (source / "src/cli").rglob("*.c"))
    sources = re.sub(r'"\s*\n\s*"', "", sources)
    for page in ("cay.1", "cay-top.1"):
        for message in re.findall(r"^\.It cay \w+: (.*)$", manual.pages[page],
                                  re.M):
            parts = re.split(r"'x'|\bx\b: |: ", message)
            if max(parts, key=len) not in sources:
                complain(f"{page}: no command prints '{message}'")


def markdown_files(source):
    return sorted([*source.glob("*.md"), *source.glob("docs/*.md"),
                   *source.glob("src/**/*.md"), *source.glob("tests/**/*.md"),
                   *source.glob("models/*.md"), *source.glob("examples/*.md")])


def check_markdown(source):
    for path in markdown_files(source):
        text = path.read_text()
        if re.search(r"^(<{7}|>{7}) ", text, re.M):
            complain(f"{path.relative_to(source)} has a merge conflict")
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if "://" not in target and not (path.parent / target).exists():
                complain(f"{path.relative_to(source)}: {target} does not exist")


def check_names(source, manual):
    """`folder/file.c` must be the end of a file's path; `name()` must be
    declared, defined or called, `struct name` defined, `CAY_NAME` used."""
    folders = ("examples", "include", "models", "src", "tests")
    suffixes = (".c", ".h", ".py", ".pml")
    sources = [path for folder in folders
               for path in (source / folder).rglob("*")
               if path.suffix in suffixes]
    paths = {"/" + str(path.relative_to(source)) for path in sources}
    names = set()
    for path in sources:
        if path.suffix == ".pml":  # comments there name functions of src
            continue
        text = path.read_text()
        names |= {f"{n}()" for n in re.findall(r"\b([a-z_]\w*)\(", text)}
        names |= set(re.findall(r"\b(?:struct|enum) \w+(?= \{)", text))
        names |= set(re.findall(r"\b(?:CAY|QUEUE)_[A-Z0-9_]+\b", text))
    for page, text in manual.pages.items():
        text = re.sub(r"^\.Dt .*$", "", text, flags=re.M)
        for name in re.findall(r'\bVt "([^"]+)"', text) + \
                re.findall(r"\b(?:CAY|QUEUE)_[A-Z0-9_]+\b", text):
            if name not in names:
                complain(f"{page}: {name} is not in the tree")
    for path in markdown_files(source):
        if path.name == "CHANGELOG.md":  # names what is no longer there
            continue
        spans = re.findall(r"`([^`\n]+)`", path.read_text())
        for span in sorted(set(spans)):
            file = re.fullmatch(r"[\w/-]+\.(?:c|h|py|pml)", span)
            name = re.fullmatch(r"[a-z_]\w*\(\)|struct \w+|CAY_[A-Z0-9_]+",
                                span)
            if (file and not any(p.endswith("/" + span) for p in paths)) or \
                    (name and span not in names):
                complain(f"{path.relative_to(source)}: {span} is not in the "
                         "tree")
        check_rows(source, path)


def check_rows(source, document):
    """| `src/file.c` | `function()` | ...: the file contains the function."""
    row = r"^\| `((?:src|tests)/[\w/.-]+)` \| (`\w+\(\)`(?:, `\w+\(\)`)*) \|"
    for file, calls in re.findall(row, document.read_text(), re.M):
        path = source / file
        text = path.read_text() if path.exists() else ""
        for name in re.findall(r"(\w+)\(\)", calls):
            # DEVICE(x) in the units of the device declares device_x().
            unit = name.removeprefix("device_")
            if not re.search(rf"\b{name}\(|\bDEVICE\({unit}\)\(", text):
                complain(f"{document.relative_to(source)}: {file} does not "
                         f"contain {name}()")


def check_folders(source):
    folders = {path.parent for path in (source / "src").rglob("*.[ch]")}
    for folder in sorted(folders):
        name = folder.relative_to(source)
        readme = folder / "README.md"
        if not readme.exists():
            complain(f"{name} has no README.md")
            continue
        named = set(re.findall(r"`([a-z0-9_]+\.[ch])`", readme.read_text()))
        there = {p.name for p in folder.glob("*.[ch]")}
        layer = source / "src" / name.parts[1]
        # A row for x.c includes x.h.
        implied = {f"{pathlib.Path(n).stem}.h" for n in named}
        for file in sorted(there - named - implied):
            complain(f"{name}/README.md does not name {file}")
        for file in sorted(named - {p.name for p in layer.rglob("*.[ch]")}):
            complain(f"{name}/README.md names {file}, which does not exist")


def check_version(source):
    header = (source / "include/cay/version.h").read_text()
    parts = [re.findall(rf"^#define CAY_VERSION_{name} (\d+)$", header, re.M)
             for name in ("MAJOR", "MINOR", "PATCH")]
    if any(len(part) != 1 for part in parts):
        complain("include/cay/version.h does not define one version")
        return
    version = ".".join(part[0] for part in parts)
    if "version: run_command('tools/version'" not in \
            (source / "meson.build").read_text():
        complain("meson.build: project() does not run tools/version")
    literal = re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d.])")
    files = [path for path in source.iterdir() if path.is_file()]
    for folder in ("debian", "docs", "examples", "include", "man", "models", "src", "tests",
                   "tools"):
        files += [p for p in (source / folder).rglob("*") if p.is_file()]
    for path in sorted(files):
        name = str(path.relative_to(source))
        if name == "CHANGELOG.md" or name.startswith(".git"):
            continue
        if literal.search(path.read_text(errors="replace")):
            complain(f"{name} repeats the project's version")


def check_arena(source, manual):
    """Of each sentence or row that has "arena" and a number of GiB."""
    header = (source / "src/node/node.h").read_text()
    size = re.search(r"#define NODE_ARENA_BYTES +\((\d+)ull << 30\)", header)
    if not size:
        complain("src/node/node.h does not define NODE_ARENA_BYTES in GiB")
        return
    texts = {path.name: path.read_text() for path in markdown_files(source)
             if path.name != "CHANGELOG.md"}
    found = 0
    for name, text in {**manual.pages, **texts}.items():
        for part in re.split(r"\.\s|\n\n|\n\||\n\.It ", text):
            sizes = re.findall(r"([\d.]+)(?:\s|\\~)*GiB", part)
            found += len(sizes) if re.search(r"\barenas?\b", part) else 0
            if re.search(r"\barenas?\b", part) and \
                    any(s != size.group(1) for s in sizes):
                complain(f"{name}: an arena has {size.group(1)} GiB: {part}")
    if not found:
        complain("no document gives the size of an arena")


def check_examples(source):
    program = re.search(r"<!-- file hello.c -->\n```c\n(.*?)```",
                        (source / "README.md").read_text(), re.S)
    hello = (source / "examples/hello.c").read_text()
    if not program or program.group(1) != hello[hello.index("#include"):]:
        complain("the program in README.md is not examples/hello.c")
    listed = set(re.findall(r"^\| `(\w+\.c)` \|",
                            (source / "examples/README.md").read_text(), re.M))
    for name in sorted(listed ^ {path.name for path in
                                 (source / "examples").glob("*.c")}):
        complain(f"{name} is not both in examples and its README.md")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--cay", type=pathlib.Path)
    options = parser.parse_args()
    source = options.source.resolve()

    manual = Manual(source)
    headers = "\n".join(without_comments(path.read_text()) for path in
                        sorted((source / "include/cay").glob("*.h")))
    check_headers(source)
    check_calls(headers, manual)
    check_errnos(source, manual)
    check_constants(headers, manual)
    check_members(headers, manual)
    check_errors(source, manual)
    check_references(manual)
    if options.cay:
        check_options(options.cay.resolve(), manual)
    check_diagnostics(source, manual)
    check_markdown(source)
    check_names(source, manual)
    check_folders(source)
    check_version(source)
    check_arena(source, manual)
    check_examples(source)
    finish()


if __name__ == "__main__":
    main()
