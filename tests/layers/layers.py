#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks the direction of dependencies between and within source folders.

usage: layers.py --source ROOT --build DIR [--update]

  * a file of src/LAYER, at any depth, includes only headers of the layers that
    docs/architecture.md allows;
  * public headers include only each other;
  * the units of the device, which device/units.h includes, use no atomics,
    fences, clocks, futexes, system calls or function pointers except through
    the hooks of device/host.h;
  * the object files of a layer do not depend on each other in a cycle
    (undefined against defined symbols), except the files in cycles.txt. A file
    that is listed there and is in no cycle any more must be removed from it, so
    the list only shrinks. device/ is one translation unit and has no cycles to
    find.

--update removes the files that are in no cycle any more from cycles.txt.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "docs"))
from complaints import complain, finish

LAYERS = {
    "base": {"base"},
    "contract": {"base", "cay", "contract"},
    "device": {"base", "cay", "contract", "device"},
    "trace": {"base", "cay", "contract", "device", "trace"},
    "node": {"base", "cay", "contract", "device", "node"},
    "port": {"base", "cay", "contract", "device", "port"},
    "bench": {"base", "cay", "contract", "bench"},
    "provider": {"base", "cay", "provider"},
    "network": {"base", "cay", "contract", "network"},
    "plot": {"base", "plot"},
    "cli": {"base", "cay", "contract", "device", "trace", "node", "bench",
            "network", "plot", "cli"},
}
# Headers that a file may include beyond its layer, by the start of its path.
EXCEPTIONS = {
    # The client side of the control protocol, and the program of the node.
    "port/": {"node/protocol.h", "node/address.h", "node/client.h",
              "node/installed.h"},
    # Measures the network itself, as `cay sim` runs it.
    "bench/network/": {"network/"},
    # Measures the machine itself, on the counting platform.
    "bench/machine/": {"device/"},
}
# Files that must not include a layer although their folder may.
FORBIDDEN = {
    # The oracle judges the device, so it must not contain any of it.
    "trace/oracle": {"device/"},
}
# What a unit of the device must not contain: a hook exists for each.
BYPASS = re.compile(r"\batomic_\w+\s*\(|\bmemory_order_\w+|\bclock_\w+\s*\(|"
                    r"\bfutex_\w+\s*\(|\bsyscall\s*\(|->\w+\s*\(")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)


def starts(header, prefixes):
    return any(header.startswith(prefix) for prefix in prefixes)


def by_prefix(table, name):
    return set().union(*(headers for prefix, headers in table.items()
                         if name.startswith(prefix)))


def check_includes(source):
    src = source / "src"
    for folder in sorted(p.name for p in src.iterdir() if p.is_dir()):
        if folder not in LAYERS:
            complain(f"src/{folder} is no layer that layers.py knows")
            continue
        for path in sorted((src / folder).rglob("*.[ch]")):
            name = str(path.relative_to(src))
            for header in INCLUDE.findall(path.read_text()):
                allowed = header.split("/")[0] in LAYERS[folder] or \
                    starts(header, by_prefix(EXCEPTIONS, name)) or \
                    (path.parent / header).exists()
                if not allowed or starts(header, by_prefix(FORBIDDEN, name)):
                    complain(f"src/{name} includes {header}")
    for path in sorted((source / "include/cay").glob("*.h")):
        for header in INCLUDE.findall(path.read_text()):
            if not header.startswith("cay/"):
                complain(f"{path.relative_to(source)} includes {header}")


def check_units(source):
    src = source / "src"
    units = [header for name in ("units.h", "device_port.c", "machine/machine.c")
             for header in INCLUDE.findall((src / "device" / name).read_text())
             if header.endswith(".c")]
    if len(units) < 30:
        complain("device/units.h includes too few units: was it moved?")
    for unit in units:
        # Comments become blank lines, so that the line numbers stay.
        text = COMMENT.sub(lambda m: "\n" * m[0].count("\n"),
                           (src / unit).read_text())
        for number, line in enumerate(text.splitlines(), 1):
            if BYPASS.search(line):
                complain(f"src/{unit}:{number} bypasses the hooks of the "
                         f"platform: {line.strip()}")


def objects(source, build):
    """The object file of each src/FOLDER/*.c. Tests compile some of them a
    second time, with other macros: those do not count."""
    found = {}
    commands = json.loads((build / "compile_commands.json").read_text())
    for command in commands:
        path = (pathlib.Path(command["directory"]) / command["file"]).resolve()
        output = build / command["output"]
        if path.is_relative_to(source / "src") and output.exists() and \
                not command["output"].startswith("tests/"):
            name = path.relative_to(source / "src").with_suffix("")
            found.setdefault(str(name), output)
    return found


def symbols(paths):
    """The defined and the undefined symbols of each object file."""
    found = {str(path): (set(), set()) for path in paths}
    output = subprocess.run(["nm", "-A", "-g", "--format=posix", *found],
                            capture_output=True, text=True, check=True).stdout
    for line in output.splitlines():
        path, symbol = line.split(": ", 1)
        name, kind = symbol.split()[:2]
        found[path][kind in "Uw"].add(name)
    return found


def strongly_connected(graph):
    """Tarjan's algorithm, with a stack of its own."""
    index, low, stack, result = {}, {}, [], []
    on_stack = set()
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            vertex, edges = work[-1]
            for successor in edges:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(graph[successor])))
                    break
                if successor in on_stack:
                    low[vertex] = min(low[vertex], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[vertex])
                if low[vertex] == index[vertex]:
                    component = []
                    while not component or component[-1] != vertex:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    result.append(component)
    return result


def cycles(source, build):
    found = objects(source, build)
    folders = collections.defaultdict(dict)
    table = symbols(found.values()) if found else {}
    for name, path in found.items():
        folder = name.split("/")[0]
        if folder != "device":
            folders[folder][name] = table[str(path)]
    if not folders:
        complain(f"{build} has no object files: build first")
    components = []
    for modules in folders.values():
        owner = {symbol: name for name, (defined, _) in modules.items()
                 for symbol in defined}
        graph = {name: sorted({owner[s] for s in undefined if s in owner} -
                              {name})
                 for name, (_, undefined) in modules.items()}
        components += [sorted(c) for c in strongly_connected(graph)
                       if len(c) > 1]
    return sorted(components)


def check_cycles(source, build, update):
    path = pathlib.Path(__file__).with_name("cycles.txt")
    lines = path.read_text().splitlines()
    listed = {line for line in lines if line and not line.startswith("#")}
    components = cycles(source, build)
    in_cycle = {name for component in components for name in component}
    for component in components:
        new = [name for name in component if name not in listed]
        if new:
            complain(f"{', '.join(new)}: in a cycle of object files: "
                     f"{', '.join(component)}")
    stale = listed - in_cycle
    if update:
        path.write_text("".join(line + "\n" for line in lines
                                if line not in stale))
    else:
        for name in sorted(stale):
            complain(f"{name} is in no cycle any more: remove it from "
                     "tests/layers/cycles.txt (--update)")
    for component in components:
        print(f"{len(component)} object files in a cycle: "
              f"{', '.join(component)}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    source = options.source.resolve()
    check_includes(source)
    check_units(source)
    check_cycles(source, options.build.resolve(), options.update)
    finish()


if __name__ == "__main__":
    main()
