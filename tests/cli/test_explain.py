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


class Machine(unittest.TestCase):
    """cay explain --machine."""
    def events(self, *arguments):
        one, = explained("--machine", *arguments)
        return one, one["events"]

    def cycle(self, events, event, **members):
        """The cycle of the only such event."""
        cycles = [e["cycle"] for e in events if e["event"] == event and
                  all(e[k] == v for k, v in members.items())]
        self.assertEqual(len(cycles), 1, (event, members))
        return cycles[0]

    def test_journey(self):
        one, events = self.events("completion")
        order = [("accepted", {}), ("fetched", {}), ("issued", {}),
                 ("transmitted", {"node": 1}), ("arrived", {"node": 2}),
                 ("dispatched", {}), ("notified", {"node": 2}),
                 ("transmitted", {"node": 2}), ("arrived", {"node": 1}),
                 ("answered", {}), ("retired", {}), ("notified", {"node": 1})]
        cycles = [self.cycle(events, event, **m) for event, m in order]
        self.assertEqual(cycles, sorted(cycles))
        for unit in "requester", "completer":
            stages = [e["cycle"] for e in events if e["event"] == "stage" and
                      e["unit"] == unit + " 0"]
            self.assertEqual(stages, list(range(
                stages[0], stages[0] + len(stages))))
        self.assertEqual(one["packets"], 2)
        self.assertGreater(one["cycles"], cycles[-1])
        self.assertIn("notification", {a["kind"] for a in one["accesses"]})

    def test_all(self):
        names = [i["instruction"] for i in explained("--machine", "all")]
        direct = {"copied", "faa_into", "emulated"}
        self.assertEqual(names, [n for n in NAMES if n not in direct])
        for name in direct:
            self.assertEqual(explain("--machine", name).returncode, 2)
        for preset in ("multi-wait", "multi", "look-ahead-wait", "look-ahead",
                       "single-wait", "single"):
            for more in [], ["--local"], ["--set", "mtu=64"]:
                for i in explained("--machine", "all", "--preset", preset,
                                   *more):
                    retired, = (e for e in i["events"]
                                if e["event"] == "retired")
                    self.assertEqual(retired["text"], "retired")

    def test_packets(self):
        one, events = self.events("get", "--bytes", "200", "--packets",
                                  "--set", "mtu=128")
        sent = [e["packet"] for e in events if e["event"] == "transmitted"]
        self.assertEqual([(p["command"], p["segment"], p["bytes"], p["last"])
                          for p in sent],
                         [("GET", 0, 0, True), ("GET_RESPONSE", 0, 128, False),
                          ("GET_RESPONSE", 128, 72, True)])
        self.assertEqual(sum(p["encoded_bytes"] for p in sent),
                         one["encoded_bytes"])
        fields = {f["field"]: f for f in sent[2]["fields"]}
        for name, value in ("segment", 128), ("last", 1), ("length", 200):
            self.assertEqual(int(fields[name]["value"], 0), value)
        self.assertIn("CRC", fields)
        self.assertIn("host phit", fields)
        text = explain("--machine", "get", "--packets").stdout
        self.assertIn("GET_RESPONSE to port 1, 4096 bytes; encoded", text)
        self.assertIn("a way back follows", text)
        for event in self.events("get", "--local")[1]:
            self.assertNotIn("encoded_bytes", event.get("packet", {}))

    def test_order(self):
        """The GET waits for the PUT; not if commands are not compared."""
        for options, held in ([], True), (["--set", "key-type=1"], False):
            _, events = self.events("order", *options)
            waits = [e for e in events if e["event"] == "held" and
                     e["request"] == 2 and e["node"] == 2]
            self.assertEqual(bool(waits), held)
            put = max(e["cycle"] for e in events if e["event"] == "stage" and
                      e["request"] == 1 and e["node"] == 2)
            get = self.cycle(events, "dispatched", request=2)
            self.assertEqual(get >= put, held)
        _, events = self.events("order")
        same = [e["request"] for e in events if e["event"] == "issued" and
                e["for_order"]]
        self.assertEqual(same, [2])
        self.assertEqual(explain("order").returncode, 2)

    def test_ultra(self):
        """Three messages of one line each, and the position that returns."""
        for more in [], ["--local"], ["--set", "mtu=64"]:
            one, events = self.events("ultra", *more)
            target = 1 if more == ["--local"] else 2
            for request in 1, 2, 3:
                order = [self.cycle(events, event, request=request)
                         for event in ("accepted", "transmitted", "arrived",
                                       "dispatched")]
                self.assertEqual(order, sorted(order))
                for unit, node in (("ULTRA requester 0", 1),
                                   ("ULTRA completer 0", target)):
                    stages = [e["stage"] for e in events if
                              e["event"] == "stage" and e["unit"] == unit and
                              e["request"] == request and e["node"] == node]
                    self.assertEqual(len(stages), 4)
            notified = [e for e in events if e["event"] == "notified"]
            self.assertEqual([e["request"] for e in notified], [1, 2])
            self.assertEqual(
                [e["port"] for e in events if e["event"] == "interrupted"],
                [2])
            last = [e["cycle"] for e in events if e["event"] == "returned"][-1]
            freed = [e["cycle"] for e in events if e["event"] == "answered"]
            self.assertGreater(freed[-1], last)
            # Words of payload, tag and status: 1 + 2, 6 + 2, 0 + 2.
            stores, = (a["stores"] for a in one["accesses"]
                       if a["kind"] == "slice")
            self.assertEqual(stores, 13)
        self.assertEqual(explain("ultra").returncode, 2)

    def test_config(self):
        run = explain("--machine", "--config", "--json", "--preset", "single",
                      "--set", "requesters=4")
        config = json.loads(run.stdout)
        self.assertEqual(config["preset"], "single")
        by_name = {p["name"]: p for p in config["parameters"]}
        self.assertEqual(by_name["policy"]["value"], 0)
        self.assertEqual(by_name["policy"]["source"], "design")
        self.assertEqual(by_name["requesters"]["value"], 4)
        self.assertEqual(by_name["requesters"]["source"], "set")
        self.assertTrue(by_name["csb-entries"]["assumed"])
        text = explain("--machine", "--config").stdout
        self.assertRegex(text, r"csb-entries +64 +assumed")
        self.assertRegex(text, r"requesters +2 +design")
        for wrong in (["--set", "requesters=0"], ["--set", "policy=3"],
                      ["--preset", "x"], ["--table"], ["--set", "mtu=65"]):
            self.assertEqual(explain("--machine", *wrong).returncode, 2)
        for alone in ["--config"], ["--packets"], ["--local"], ["--set", "mtu=64"]:
            self.assertEqual(explain(*alone).returncode, 2)


if __name__ == "__main__":
    CAY = sys.argv.pop(1)
    unittest.main(verbosity=2)
