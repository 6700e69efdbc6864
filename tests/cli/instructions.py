#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks docs/instructions.md against the output of `cay explain --table`.

usage: instructions.py CAY DOCUMENT [--update] [--costs FILE]

Steps, accesses and errors must be equal. The column of costs is from one run on
one machine and is not compared. --update writes the differences to the document
and keeps the costs. --costs FILE replaces the costs by those of a run, the
JSON output of

  cay bench --sizes 8,256,4K,64K --json
"""
import argparse
import datetime
import json
import pathlib
import subprocess
import sys

ROWS, CODES = "| instruction |", "| code |"
SENTENCE = "Costs are from"

# The figures of each instruction: benchmark, key, and what they measure.
FIGURES = {
    "fast_send": [("latency", "8 B Fast Send", "one way")],
    "send": [("latency", "256 B Send", "one way")],
    "reference": [("rma", "reference_65536_alloc", "one way, `cay_alloc`"),
                  ("rma", "reference_65536_malloc", "`malloc`")],
    "posted": [("rma", "posted_65536", "one way, 64 KiB")],
    "fast_put": [("rma", "put", "seen"), ("rma", "put_flush", "with flush")],
    "put": [("rma", "put_4096_alloc", "with flush, `cay_alloc`"),
            ("rma", "put_4096_malloc", "`malloc`")],
    "masked_put": [("rma", "put_masked", "with flush")],
    "fast_get": [("rma", "get_event", "with its event")],
    "get": [("rma", "get_4096_alloc", "with flush, `cay_alloc`"),
            ("rma", "get_4096_malloc", "`malloc`")],
    "faa": [("rma", "fetch_add", "with its event")],
    "faa_into": [("rma", "fetch_add_into", "with flush")],
    "cas": [("rma", "compare_swap", "with its event")],
    "emulated": [("rma", "emulated", "there and back")],
}


def table(lines, heading):
    """Returns where the table with this heading begins and ends."""
    begin = next((i for i, line in enumerate(lines)
                  if line.startswith(heading)), None)
    if begin is None:
        sys.exit(f"there is no table that begins with '{heading}'")
    end = begin
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return begin, end


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def row(parts):
    return "| " + " | ".join(parts) + " |"


def without_costs(lines):
    """The rule between heading and rows is not a row."""
    return [cells(line)[:-1] for line in lines if "---" not in line]


def program(cay):
    run = subprocess.run([cay, "explain", "--table"], capture_output=True,
                         text=True, timeout=60, check=True)
    lines = run.stdout.splitlines()
    rows, codes = table(lines, ROWS), table(lines, CODES)
    return lines[slice(*rows)], lines[slice(*codes)]


def ratio(result):
    return result["Cay"]["p50_ns"] / result["L"]["p50_ns"]


def short(value):
    """Returns the ratio with the two digits that are significant."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2g}"


def costs_of(report):
    """By instruction: its figures over L."""
    by_name = {(r["bench"], r.get("key", r["case"])): r
               for r in report["results"]}
    refused = [name for name, r in by_name.items() if r["refused"]]
    if refused:
        sys.exit(f"this run was disturbed: {refused}")
    return {instruction: "; ".join(
        f"{short(ratio(by_name[(bench, key)]))} {what}"
        for bench, key, what in figures)
        for instruction, figures in FIGURES.items()}


def sentence_of(report):
    lines_ns = [r["L"]["p50_ns"] for r in report["results"]]
    distances = sorted({r["distance"] for r in report["results"]})
    return (f"{SENTENCE} `{report['command']}`, "
            f"{datetime.date.today().isoformat()}, L = {min(lines_ns):.0f} to "
            f"{max(lines_ns):.0f} ns (distance: {', '.join(distances)}).")


def updated(lines, rows, codes, report):
    begin, end = table(lines, ROWS)
    kept = {cells(line)[0]: cells(line)[-1] for line in lines[begin:end]}
    if report:
        kept.update(costs_of(report))
        lines = [sentence_of(report) if line.startswith(SENTENCE) else line
                 for line in lines]
    new = [row(cells(line) + ["---" if "---" in line else
                              kept.get(cells(line)[0], "not measured")])
           for line in rows]
    lines = lines[:begin] + new + lines[end:]
    begin, end = table(lines, CODES)
    return lines[:begin] + codes + lines[end:]


def differences(lines, rows, codes):
    ours = without_costs(lines[slice(*table(lines, ROWS))])
    theirs = [cells(line) for line in rows if "---" not in line]
    found = [f"the document has {a}\nthe program has {b}"
             for a, b in zip(ours, theirs) if a != b]
    if len(ours) != len(theirs):
        found.append(f"the document has {len(ours)} rows, "
                     f"the program {len(theirs)}")
    if lines[slice(*table(lines, CODES))] != codes:
        found.append("the codes of errors differ")
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cay", type=pathlib.Path)
    parser.add_argument("document", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--costs", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    rows, codes = program(options.cay.resolve())
    lines = options.document.read_text().splitlines()
    if options.update or options.costs:
        report = options.costs and json.loads(options.costs.read_text())
        lines = updated(lines, rows, codes, report)
        options.document.write_text("\n".join(lines) + "\n")
    found = differences(lines, rows, codes)
    if found:
        print("\n".join(found))
        sys.exit(f"{options.document} differs from cay explain --table; run "
                 f"{sys.argv[0]} {options.cay} {options.document} --update")


main()
