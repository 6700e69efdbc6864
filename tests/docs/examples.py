#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compiles and runs the examples in the documents.

usage: examples.py --source ROOT --library FILE --cay FILE [options]

  --source ROOT     the source tree
  --library FILE    libcay.so or libcay.a, to link with
  --cay FILE        the program cay, also as the node unless CAY_NODE_PROGRAM
                    is set
  --cc COMMAND      the compiler (default cc); repeat it for arguments
  --cflag FLAG      an additional compiler flag; repeatable
  --list            list the examples without running them

A C example is a block that begins with #include: in a manual page between .Bd
-literal and .Ed, in a Markdown file between ```c and ```. Each must compile
without a warning. An example with main() is run and must exit with 0 in time.

A shell example is a ```sh block after the line <!-- run -->. It is run by sh
-eu in an empty directory, with cay in the PATH. If <!-- output --> and another
block follow, that block is the expected output.

Each example has its own node. If no example of a kind is found, the test fails,
because the marks have probably changed.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

RUN_SECONDS_MAX = 60
COMPILE_SECONDS_MAX = 120
WARNINGS = ["-std=gnu17", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]

# Escapes of roff in literal text; \e must be the last one.
ROFF = [(r"\&", ""), (r"\-", "-"), (r"\(dq", '"'), (r"\(aq", "'"),
        (r"\e", "\\")]


@dataclasses.dataclass
class Example:
    kind: str  # "man", "markdown" or "shell"
    where: str  # file:line
    text: str
    output: str | None = None


def roff_plain(line):
    for escape, plain in ROFF:
        line = line.replace(escape, plain)
    return line


def man_examples(path, name):
    block, begin = None, 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith(".Bd -literal"):
            block, begin = [], number
        elif line == ".Ed":
            if block and block[0].startswith("#include"):
                yield Example("man", f"{name}:{begin}",
                              "\n".join(block) + "\n")
            block = None
        elif block is not None:
            block.append(roff_plain(line))


def fenced_blocks(lines):
    """Yields (index of the opening line, language, text)."""
    at = 0
    while at < len(lines):
        if not lines[at].startswith("```"):
            at += 1
            continue
        begin = at
        at += 1
        while not lines[at].startswith("```"):
            at += 1
        text = "\n".join(lines[begin + 1:at]) + "\n"
        yield begin, lines[begin][3:].strip(), text
        at += 1


def mark_before(lines, at):
    """Returns the HTML comment in the nearest preceding non-empty line."""
    at -= 1
    while at >= 0 and not lines[at].strip():
        at -= 1
    found = re.fullmatch(r"<!--\s*(\w+)\s*-->", lines[at].strip()) \
        if at >= 0 else None
    return found.group(1) if found else None


def markdown_examples(path, name):
    lines = path.read_text().splitlines()
    last = None
    for begin, language, text in fenced_blocks(lines):
        where = f"{name}:{begin + 1}"
        mark = mark_before(lines, begin)
        if mark == "output":
            if last is None:
                sys.exit(f"{where}: output without an example")
            last.output = text
        last = None
        if language == "c":
            if not text.startswith("#include"):
                sys.exit(f"{where}: a C block must begin with #include; "
                         "mark others as text")
            yield Example("markdown", where, text)
        elif mark == "run":
            last = Example("shell", where, text)
            yield last


def collect(source):
    examples = []
    for path in sorted((source / "man").glob("*.[1-9]")):
        examples += man_examples(path, path.relative_to(source))
    markdown = [source / "README.md", source / "CONTRIBUTING.md"]
    markdown += sorted((source / "docs").glob("*.md"))
    for path in markdown:
        if path.exists():
            examples += markdown_examples(path, path.relative_to(source))
    return examples


class Runner:
    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.library = options.library.resolve()
        self.cay = options.cay.resolve()

    def environment(self, number):
        env = dict(os.environ)
        env["CAY_NODE"] = f"docs-{os.getpid()}-{number}"
        env.setdefault("CAY_NODE_PROGRAM", str(self.cay))
        env.pop("CAY_REALM", None)
        env["PATH"] = f"{self.cay.parent}{os.pathsep}{env['PATH']}"
        env["LD_LIBRARY_PATH"] = str(self.library.parent)
        return env

    def command(self, argv, seconds, **more):
        """Returns (status or None after a timeout, output, errors)."""
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, start_new_session=True, **more)
        try:
            output, errors = process.communicate(timeout=seconds)
            return process.returncode, output, errors
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            return None, output, errors

    def compile(self, example, base):
        source = base.with_suffix(".c")
        source.write_text(example.text)
        program = "int main(" in example.text
        argv = [*self.options.cc, *WARNINGS, *self.options.cflag,
                "-I", str(self.options.source / "include"), str(source),
                "-o", str(base)]
        argv += [str(self.library), "-pthread"] if program else ["-c"]
        status, output, errors = self.command(argv, COMPILE_SECONDS_MAX)
        if status != 0:
            return f"does not compile\n{output}{errors}"
        return None if not program else self.run(example, [str(base)], base)

    def shell(self, example, base):
        work = base.with_suffix(".d")
        work.mkdir()
        return self.run(example, ["sh", "-eu", "-c", example.text], base,
                        cwd=work)

    def run(self, example, argv, base, **more):
        status, output, errors = self.command(
            argv, RUN_SECONDS_MAX, env=self.environment(base.name), **more)
        said = output + errors
        if status is None:
            return f"did not exit within {RUN_SECONDS_MAX} s\n{said}"
        if status != 0:
            return f"exited with {status}\n{said}"
        if example.output is not None and output != example.output:
            return f"printed\n{said}instead of\n{example.output}"
        return None

    def check(self, number, example):
        base = self.directory / f"example{number}"
        if example.kind == "shell":
            return self.shell(example, base)
        return self.compile(example, base)


def options_parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--cay", type=pathlib.Path)
    parser.add_argument("--cc", action="append")
    parser.add_argument("--cflag", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    options.source = options.source.resolve()
    options.cc = options.cc or ["cc"]
    if not options.list and not (options.library and options.cay):
        parser.error("--library and --cay are required")
    return options


def missing_kinds(examples):
    found = {example.kind for example in examples}
    return sorted({"man", "markdown", "shell"} - found)


def main():
    options = options_parse()
    examples = collect(options.source)
    missing = missing_kinds(examples)
    if missing:
        sys.exit(f"no example found of kind: {', '.join(missing)}")
    if options.list:
        for example in examples:
            print(f"{example.kind:9} {example.where}")
        return
    failed = 0
    with tempfile.TemporaryDirectory(prefix="cay-docs-") as directory:
        runner = Runner(options, pathlib.Path(directory))
        for number, example in enumerate(examples):
            complaint = runner.check(number, example)
            print(f"{'FAILED' if complaint else 'ok':7} {example.where}",
                  flush=True)
            if complaint:
                failed += 1
                print("    " + complaint.rstrip().replace("\n", "\n    "))
    print(f"{len(examples) - failed} of {len(examples)} examples passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
