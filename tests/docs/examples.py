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
It is then run where no node can be started, and, if it opens a port with a name,
where that name is in use: it must name the failing call on standard error, exit
with another status than 0, print nothing else and leave no process behind.

A shell example is a ```sh block after the line <!-- run -->. It is run by sh
-eu in an empty directory, with cay in the PATH; cc is the compiler of the test,
and pkg-config finds cay in the build folder. A C example after the line <!-- file
NAME --> is a file in that directory, and only the failures above are run. If
<!-- output --> and another block follow, that block is the expected output.

Each example has its own node. If no example of a kind is found, the test fails,
because the marks have probably changed.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

RUN_SECONDS_MAX = 60
COMPILE_SECONDS_MAX = 120
LEFT_SECONDS_MAX = 2  # for a child to notice that its parent has exited
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
    file: str | None = None  # name of the file that shell examples find


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
    """Returns the words of the HTML comment in the nearest preceding non-empty
    line."""
    at -= 1
    while at >= 0 and not lines[at].strip():
        at -= 1
    found = re.fullmatch(r"<!--\s*(\w+(?: [\w.]+)?)\s*-->",
                         lines[at].strip()) if at >= 0 else None
    return found.group(1).split() if found else []


def markdown_examples(path, name):
    lines = path.read_text().splitlines()
    last = None
    for begin, language, text in fenced_blocks(lines):
        where = f"{name}:{begin + 1}"
        mark = mark_before(lines, begin)
        if mark == ["output"]:
            if last is None:
                sys.exit(f"{where}: output without an example")
            last.output = text
        last = None
        if language == "c":
            if not text.startswith("#include"):
                sys.exit(f"{where}: a C block must begin with #include; "
                         "mark others as text")
            file = mark[1] if mark[:1] == ["file"] else None
            last = Example("markdown", where, text, file=file)
            yield last
        elif mark == ["run"]:
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
        self.files = {}
        self.tools = directory / "bin"
        self.tools.mkdir()
        compiler = self.tools / "cc"
        command = shlex.join([*options.cc, *options.cflag])
        compiler.write_text(
            f'#!/bin/sh\nPATH="${{PATH#*:}}" exec {command} "$@"\n')
        compiler.chmod(0o755)

    def environment(self, number):
        env = dict(os.environ)
        env["CAY_NODE"] = f"docs-{os.getpid()}-{number}"
        env.setdefault("CAY_NODE_PROGRAM", str(self.cay))
        env.pop("CAY_REALM", None)
        env["PATH"] = os.pathsep.join(
            [str(self.tools), str(self.cay.parent), env["PATH"]])
        env["PKG_CONFIG_PATH"] = str(self.cay.parent / "meson-uninstalled")
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
        if example.file:
            self.files[example.file] = example.text
        if not program:
            return None
        return (None if example.file else
                self.run(example, [str(base)], base)) or \
            self.unusable(example, base) or self.occupied(example, base)

    def unusable(self, example, base):
        """Where no node can be started."""
        if "cay_port_open(" not in example.text:
            return None
        env = self.environment(f"{base.name}-unusable")
        env["CAY_NODE_PROGRAM"] = "/nonexistent"
        return self.fails(base, env, "without a node")

    def occupied(self, example, base):
        """While another process has a port with the name of the example's."""
        name = re.search(r'\.name = "([\w-]+)"', example.text)
        if not name:
            return None
        env = self.environment(f"{base.name}-occupied")
        with subprocess.Popen([str(self.cay), "recv", name.group(1)], env=env,
                              stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL) as holder:
            subprocess.run(
                [str(self.cay), "send", "--ack", name.group(1), "opened?"],
                env=env, check=True, timeout=RUN_SECONDS_MAX)
            complaint = self.fails(base, env, "while its name is in use")
            holder.kill()
        return complaint

    def fails(self, base, env, where):
        process = subprocess.Popen(
            [str(base)], env=env, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        try:
            process.wait(RUN_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            pass
        left = self.session(process.pid)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        output, errors = process.communicate()
        said = f"\n{output}{errors}"
        if process.returncode < 0 or left:
            return f"left processes behind {where}: {left}{said}"
        if process.returncode == 0:
            return f"exited with 0 {where}{said}"
        if not re.search(r"\bcay_\w+: \w", errors):
            return f"does not say which call failed {where}{said}"
        return f"printed {where}{said}" if output else None

    def session(self, leader):
        """The processes of a session, once those that are ending have ended."""
        deadline = time.monotonic() + LEFT_SECONDS_MAX
        while True:
            left = []
            for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
                try:
                    fields = stat.read_text().rpartition(")")[2].split()
                except OSError:  # it has ended
                    continue
                if int(fields[3]) == leader and fields[0] not in "ZX":
                    left.append(int(stat.parent.name))
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.01)

    def shell(self, example, base):
        work = base.with_suffix(".d")
        work.mkdir()
        for name, text in self.files.items():
            (work / name).write_text(text)
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
