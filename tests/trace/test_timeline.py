#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cay trace timeline: the output conforms to the Trace Event Format.

usage: test_timeline.py CAY RECORDED [TEST...]

RECORDED is a program of two processes that uses libcay.so.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CAY = RECORDED = ""
TIMEOUT_S = 60

WRITTEN = """cay-trace 2
port 0 process=17
port 1 process=18
@1000+500/170 send 0 1 tag=0x5 bytes=4096
@1600+2000/170 send 0 1 tag=0x6 data=0102 flags=ack
@2000+100/180 drain 1
@2050+10/181 put 1 0 window=0 key=0x1 data=01
@5000 drain 0
"""
UNTIMED = """cay-trace 1
port 0
port 1
send 0 1 tag=0x5
drain 1
send 1 0 tag=0x6
send 1 0 tag=0x7
"""


def run(*command, status=0, text=None, **options):
    done = subprocess.run(command, capture_output=True, text=True, input=text,
                          timeout=TIMEOUT_S, **options)
    if done.returncode != status:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stderr}")
    return done


class Timeline(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.file = str(pathlib.Path(self.directory.name, "trace"))

    def timeline(self, text):
        """The checked timeline of a trace."""
        document = json.loads(
            run(CAY, "trace", "timeline", "-", text=text).stdout)
        self.check(document)
        return document

    def check(self, document):
        """What the format demands, and Perfetto relies on."""
        self.assertEqual(set(document), {"displayTimeUnit", "otherData",
                                         "traceEvents"})
        named, tracks = set(), collections.defaultdict(list)
        begins, ends = {}, {}
        for event in document["traceEvents"]:
            track = event["pid"], event["tid"]
            self.assertIsInstance(event["pid"], int)
            self.assertIsInstance(event["tid"], int)
            self.assertIsInstance(event["name"], str)
            if event["ph"] == "M":
                self.assertIn(event["name"], ("process_name", "thread_name"))
                named.add(event["pid"] if event["name"] == "process_name"
                          else track)
                continue
            self.assertGreaterEqual(event["ts"], 0)
            if event["ph"] == "X":
                self.assertGreater(event["dur"], 0)
                tracks[track].append(event)
                continue
            self.assertIn(event["ph"], ("s", "f"))
            side = begins if event["ph"] == "s" else ends
            self.assertNotIn(event["id"], side)
            side[event["id"]] = event
            if event["ph"] == "f":
                self.assertEqual(event["bp"], "e")
        for track, slices in tracks.items():
            self.assertIn(track, named)
            self.assertIn(track[0], named)
            at = 0
            for event in slices:  # in order, and disjoint
                self.assertGreaterEqual(event["ts"], at - 1e-6)
                at = event["ts"] + event["dur"]
        # Each arrow has two ends, in slices, and does not go back in time.
        self.assertEqual(set(begins), set(ends))
        for number, begin in begins.items():
            end = ends[number]
            self.assertEqual(begin["name"], end["name"])
            self.assertGreaterEqual(end["ts"], begin["ts"])
            for event in begin, end:
                self.assertTrue(any(
                    x["ts"] <= event["ts"] < x["ts"] + x["dur"]
                    for x in tracks[event["pid"], event["tid"]]), event)

    def slices(self, document):
        return [e for e in document["traceEvents"] if e["ph"] == "X"]

    def names(self, document, kind):
        return [e["args"]["name"] for e in document["traceEvents"]
                if e["name"] == kind]

    def arrows(self, document):
        """Pairs of the slices that arrows connect, by their lines."""
        by_time = {(e["pid"], e["tid"], e["ts"]): e["args"]["line"]
                   for e in self.slices(document)}
        ends = collections.defaultdict(list)
        for e in document["traceEvents"]:
            if e["ph"] in "sf":
                ends[e["id"]].append(by_time[e["pid"], e["tid"], e["ts"]])
        return sorted(map(tuple, ends.values()))

    def test_times_and_tracks(self):
        document = self.timeline(WRITTEN)
        self.assertEqual(self.names(document, "process_name"),
                         ["process 17", "process 18"])
        self.assertEqual(self.names(document, "thread_name"),
                         ["port 0, thread 170", "port 1, thread 180",
                          "port 1, thread 181", "port 0"])
        first, second, drain, put, last = self.slices(document)
        self.assertEqual((first["name"], first["ts"], first["dur"]),
                         ("send", 1, 0.5))
        self.assertEqual(first["args"], {
            "line": 4, "target": 1, "bytes": 4096,
            "tag": "0x0000000000000005"})
        self.assertEqual((second["ts"], second["dur"]), (1.6, 2))
        self.assertEqual((drain["ts"], put["dur"]), (2, 0.01))
        self.assertEqual((last["ts"], last["dur"]), (5, 0.001))

    def test_arrows(self):
        """Messages to the next polling of the target, completions back."""
        self.assertEqual(self.arrows(self.timeline(WRITTEN)),
                         [(4, 6), (5, 6), (5, 8)])

    def test_without_times(self):
        """The order is the time; a message that nobody polls has no arrow."""
        document = self.timeline(UNTIMED)
        self.assertIn("no times", document["otherData"]["unit"])
        self.assertEqual([e["ts"] for e in self.slices(document)],
                         [0, 1, 2, 3])
        self.assertEqual(self.arrows(document), [(4, 5)])

    def test_hostile_times(self):
        largest = 2**64 - 1
        self.timeline("cay-trace 2\nport 0\n"
                      f"@{largest}+{largest}/1 drain 0\n"
                      f"@{largest}+{largest}/1 drain 0\n"
                      "@5+9/1 drain 0\n@5+9/1 drain 0\n@1 drain 0\n")

    def test_random(self):
        for seed in range(1, 20):
            trace = run(CAY, "trace", "random", "--seed", str(seed),
                        "--count", "200", "--conflicts").stdout
            document = self.timeline(trace)
            count = json.loads(run(CAY, "trace", "show", "--json", "-",
                                   text=trace).stdout)["instructions"]
            self.assertEqual(len(self.slices(document)), sum(count.values()))

    def test_recorded(self):
        run(CAY, "trace", "record", "-o", self.file, "--", RECORDED,
            "threads",
            env={**os.environ, "CAY_NODE": f"timeline-{os.getpid()}"})
        document = self.timeline(pathlib.Path(self.file).read_text())
        self.assertEqual(len(self.names(document, "process_name")), 2)
        # The first process, and five threads of the second.
        self.assertGreaterEqual(len(self.names(document, "thread_name")), 6)
        slices = {e["args"]["line"]: e for e in self.slices(document)}
        self.assertGreater(sum(e["dur"] for e in slices.values()), 0)
        messages = [(slices[a], slices[b]) for a, b in self.arrows(document)
                    if slices[a]["name"] == "send"]
        # All but the last messages are received in the other process.
        self.assertGreater(len(messages), 100)
        self.assertTrue(any(a["pid"] != b["pid"] for a, b in messages))
        for _, end in messages:
            self.assertIn(end["name"], ("drain", "port_close"))

    def test_replay_ignores_times(self):
        stripped = "\n".join(
            line.split(" ", 1)[1] if line.startswith("@") else line
            for line in WRITTEN.replace(" process=17", "").splitlines())
        a, b = (json.loads(run(CAY, "trace", "replay", "--json",
                               "--platform", "model", "-", text=text).stdout)
                for text in (WRITTEN, stripped + "\n"))
        for report in a, b:
            for executed in report["runs"]:
                executed.pop("time_ns")
        self.assertEqual(a, b)

    def test_output(self):
        target = self.file + ".json"
        done = run(CAY, "trace", "timeline", "-o", target, "-", text=WRITTEN)
        self.assertEqual(done.stdout, "")
        self.check(json.loads(pathlib.Path(target).read_text()))
        done = run(CAY, "trace", "timeline", "-o", "/none/x", "-",
                   text=WRITTEN, status=1)
        self.assertIn("/none/x: No such file", done.stderr)
        with open("/dev/full", "w") as full:
            done = subprocess.run([CAY, "trace", "timeline", "-"],
                                  input=WRITTEN, stdout=full, text=True,
                                  stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output: No space", done.stderr)


if __name__ == "__main__":
    CAY, RECORDED = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
    unittest.main(verbosity=2)
