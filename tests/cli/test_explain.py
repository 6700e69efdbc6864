#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cay explain: every instruction in every format.

usage: test_explain.py CAY [TEST...]
"""
import json
import subprocess
import sys
import unittest

CAY = ""
NAMES = ["fast_send", "send", "copied", "reference", "completion", "posted",
         "fast_put", "put", "masked_put", "fast_get", "get", "faa", "faa_into",
         "cas", "emulated"]
MESSAGES = {"fast_send", "send", "copied", "reference", "completion", "posted"}
WINDOW_ERRORS = {"invalid_target_window", "wrong_capability",
                 "outside_target_window", "target_locked", "no_rights"}
ANY_ERRORS = {"invalid_command", "invalid_route", "invalid_target_vpid",
              "unreachable", "peer_gone", "realm_denied"}


def explain(*arguments):
    return subprocess.run([CAY, "explain", *arguments], capture_output=True,
                          text=True, timeout=60)


def explained(*arguments):
    run = explain(*arguments, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["instructions"]


def field(fields, name):
    """The value of the named field of a record, with its meaning."""
    value, = (f for f in fields if f["field"] == name)
    return value["value"], value.get("meaning")


def names_of(instruction):
    return {e["name"] for e in instruction["errors"]}


class Explain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.all = {i["instruction"]: i for i in explained("all")}

    def test_all_instructions(self):
        self.assertEqual(list(self.all), NAMES)
        for name in NAMES:
            with self.subTest(name):
                one, = explained(name)
                self.assertEqual(one, self.all[name])

    def test_errors(self):
        for name, instruction in self.all.items():
            with self.subTest(name):
                errors = names_of(instruction)
                if name == "copied":  # has no work request
                    self.assertEqual(errors, set())
                    continue
                self.assertLessEqual(ANY_ERRORS, errors)
                self.assertEqual(WINDOW_ERRORS <= errors,
                                 name not in MESSAGES)
                self.assertEqual("timeout" in errors,
                                 name in ("reference", "emulated"))
                self.assertEqual("posted_truncated" in errors,
                                 name == "posted")
                self.assertEqual("invalid_origin_window" in errors,
                                 name in ("put", "get"))

    def test_copied(self):
        """One copy, no completion, and the slot is free in the end."""
        copied = self.all["copied"]
        self.assertEqual([p["side"] for p in copied["phases"]],
                         ["origin", "target", "origin"])
        steps = [[s["name"] for s in p["steps"]] for p in copied["phases"]]
        self.assertEqual(steps[0][0], "staging store")
        self.assertIn("reference done", steps[1])
        self.assertEqual(steps[2], ["reference reclaimed"])
        self.assertEqual(len(copied["notifications"]), 1)
        self.assertIn("the call returns all of them", explain("copied").stdout)

    def test_completed_command(self):
        """A completion names the command that was issued."""
        completed = 0
        for name in NAMES:
            sizes = [[]]
            if name in ("send", "completion"):
                sizes += [["--bytes", "0"], ["--bytes", "40"],
                          ["--bytes", "41"]]
            for size in sizes:
                one, = explained(name, *size)
                issued = [field(one["vci"], "command")] if "vci" in one else []
                for n in one["notifications"]:
                    if n["where"] != "at the origin":
                        continue
                    with self.subTest(name, size=size):
                        self.assertEqual(
                            [field(n["fields"], "completed command")], issued)
                        completed += 1
        self.assertGreaterEqual(completed, 8)

    def test_spelling(self):
        for name in "FAST_SEND", "fast-send", "Fast_Send":
            with self.subTest(name):
                self.assertEqual(explained(name), [self.all["fast_send"]])
        for name in "fast send", "fast_sen", "fast_send_", "":
            with self.subTest(name):
                self.assertEqual(explain(name).returncode, 2)

    def test_sums(self):
        """The totals of a phase are those of its steps."""
        for name, instruction in self.all.items():
            for phase in instruction["phases"]:
                with self.subTest(name, phase=phase["phase"]):
                    steps = [a for s in phase["steps"] for a in s["accesses"]]
                    for what in "loads", "stores", "atomics", "lines_written":
                        self.assertEqual(
                            sum(a[what] for a in steps),
                            sum(t[what] for t in phase["totals"]))
                    self.assertEqual(
                        phase["shared_lines_written"],
                        sum(t["lines_written"] for t in phase["totals"]
                            if t["kind"] != "op record"))
                    self.assertEqual(phase["shared_atomics"], sum(
                        t["atomics"] for t in phase["totals"]
                        if t["kind"] != "op record"))

    def test_bytes(self):
        put, = explained("put", "--bytes", "640")
        self.assertEqual(put["phases"][0]["shared_lines_written"], 10)
        get, = explained("get", "--bytes", "640")
        self.assertEqual(get["phases"][0]["shared_lines_written"], 0)
        self.assertGreaterEqual(get["phases"][0]["shared_lines_read"], 10)
        for name, length in ("fast_put", "25"), ("faa", "4"), ("put", "1M"):
            self.assertEqual(explain(name, "--bytes", length).returncode, 2)

    def test_text(self):
        run = explain("all")
        self.assertEqual(run.returncode, 0, run.stderr)
        for name, instruction in self.all.items():
            self.assertIn(f"{name} of {instruction['bytes']} bytes",
                          run.stdout)
            # Line breaks separate its words.
            self.assertIn(instruction["meaning"],
                          " ".join(run.stdout.split()))

    def test_summary_is_first(self):
        for name, instruction in self.all.items():
            with self.subTest(name):
                title, summary, steps = explain(name).stdout.split(
                    "\n\n", 2)
                self.assertTrue(title.startswith(f"{name} of "), title)
                self.assertEqual(" ".join(summary.split()),
                                 instruction["meaning"])
                self.assertTrue(steps.startswith("origin issues\n"), steps)
                for line in summary.splitlines():
                    self.assertLess(len(line), 80)

    def test_columns_are_explained(self):
        """Each heading, once and at the end; each kind in the help text."""
        text = explain("all").stdout
        tables, legend = text.split("\ncolumns of the steps\n")
        headings = next(line for line in tables.splitlines()
                        if line.lstrip().startswith("#"))
        for heading in headings.split():
            self.assertRegex(legend, rf"(?m)^  (?:\S+, )*{heading}(,| )")
        kinds = {a["kind"] for i in self.all.values() for p in i["phases"]
                 for a in p["totals"]}
        terms = explain("--help").stdout.split("Kinds of memory:")[1]
        for kind in kinds:
            self.assertRegex(terms, rf"(?m)^  (?:[^,\n]+, )*{kind}(,|  |$)")

    def test_table(self):
        run = explain("--table")
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = [line.split("|")[1].strip() for line in run.stdout.splitlines()
                if line.startswith("| ")]
        self.assertEqual(rows[1:1 + len(NAMES)], NAMES)
        one = explain("cas", "--table").stdout.splitlines()
        self.assertEqual([line for line in run.stdout.splitlines()
                          if line.startswith("| cas |")], one[2:3])

    def test_usage_errors(self):
        for arguments in (["nothing"], ["all", "--bytes", "8"], ["--what"],
                          ["--json", "--table"], ["put", "get"]):
            with self.subTest(arguments=arguments):
                run = explain(*arguments)
                self.assertEqual(run.returncode, 2)
                self.assertTrue(run.stderr)


if __name__ == "__main__":
    CAY = sys.argv.pop(1)
    unittest.main(verbosity=2)
