#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cay trace: recording real processes, and what comes of replaying them.

usage: test_record.py CAY RECORDED RECORDED_STATIC [TEST...]

RECORDED is a program of two processes that uses libcay.so, RECORDED_STATIC
the same program with the static library in it.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

CAY = RECORDED = STATIC = ""
TIMEOUT_S = 60


def run(*command, status=0, text=None, **options):
    done = subprocess.run(command, capture_output=True, text=True, input=text,
                          timeout=TIMEOUT_S, **options)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}"
                             f"{done.stderr}")
    return done


def environment(**more):
    """The environment of a program in which the recorder is not the first library."""
    options = os.environ.get("ASAN_OPTIONS", "")
    return {**os.environ, "CAY_NODE": f"trace-{os.getpid()}",
            "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0", **more}


class Trace(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.file = str(pathlib.Path(self.place.name, "trace"))

    def tearDown(self):
        self.place.cleanup()

    def left(self):
        return sorted(p.name for p in pathlib.Path(self.place.name).iterdir())

    def record(self, *program, status=0, **more):
        return run(CAY, "trace", "record", "-o", self.file, "--", *program,
                   status=status, env=environment(**more))

    def lines(self):
        return pathlib.Path(self.file).read_text().splitlines()

    def shown(self, path=None):
        return json.loads(run(CAY, "trace", "show", "--json",
                              path or self.file).stdout)

    # ---- recording ----

    def test_two_processes(self):
        said = self.record(RECORDED).stderr
        self.assertIn("2 ports in 2 processes", said)
        self.assertEqual(self.left(), ["trace"])
        shown = self.shown()
        self.assertEqual(shown["ports"], 2)
        self.assertEqual(shown["memory_bytes"], 4096)
        # The number of polls depends on timing.
        self.assertGreater(shown["instructions"].pop("drain"), 2)
        self.assertEqual(shown["instructions"], {
            "window": 1, "window_close": 1, "window_lock": 1,
            "window_unlock": 1, "peer_resolve": 2, "peer_release": 2,
            "send": 8, "put": 5, "put_masked": 1, "get": 2, "fetch_add": 2,
            "compare_swap": 2, "flush": 1, "port_close": 2})

    def test_replay_on_all(self):
        self.record(RECORDED)
        told = json.loads(run(CAY, "trace", "replay", "--json",
                              self.file).stdout)
        self.assertTrue(told["agree"])
        self.assertEqual([r["platform"] for r in told["runs"]],
                         ["real", "counting", "model"])
        real = told["runs"][0]
        # The second process: eight completions of accesses, two of messages,
        # the key; the first one: seven messages.
        self.assertEqual(sorted(p["notifications"] for p in real["ports"]),
                         [7, 11])
        self.assertEqual(real["refused"], 2)
        for other in told["runs"][1:]:
            self.assertEqual(other["ports"], real["ports"])
            self.assertEqual(other["memory"], real["memory"])

    def test_one_at_a_time(self):
        self.record(RECORDED)
        digests = set()
        for platform in ("real", "counting", "model"):
            told = json.loads(run(CAY, "trace", "replay", "--platform",
                                  platform, "--json", self.file).stdout)
            self.assertEqual(len(told["runs"]), 1)
            digests.add(json.dumps([told["runs"][0][k]
                                    for k in ("ports", "memory")]))
        self.assertEqual(len(digests), 1)

    def test_order_of_an_origin(self):
        self.record(RECORDED)
        tags = [line.split("tag=")[1].split()[0] for line in self.lines()
                if " send 1 " in line or " send 0 " in line
                if "tag=" in line and int(line.split("tag=")[1].split()[0],
                                          16) >= 20]
        self.assertEqual(tags, ["0x14", "0x15", "0x16", "0x17", "0x18",
                                "0x3e8"])
        times = [int(line.split()[0][1:]) for line in self.lines()
                 if line.startswith("@")]
        self.assertEqual(times, sorted(times))

    def test_keys_are_numbers(self):
        self.record(RECORDED)
        keys = {line.split("key=")[1].split()[0] for line in self.lines()
                if "key=" in line}
        self.assertEqual(keys, {"0x1", "0x2"})

    def test_exit_status(self):
        self.record(RECORDED, "exit", "7", status=7)
        self.assertEqual(self.left(), ["trace"])
        run(CAY, "trace", "replay", self.file)

    def test_killed_in_the_middle(self):
        self.record(RECORDED, "kill")
        shown = self.shown()
        self.assertEqual(shown["instructions"]["send"], 7)
        self.assertEqual(shown["instructions"]["port_close"], 1)
        run(CAY, "trace", "replay", self.file)

    def test_threads(self):
        self.record(RECORDED, "threads")
        shown = self.shown()
        self.assertEqual(shown["ports"], 2)
        self.assertEqual(shown["instructions"]["fetch_add"], 402)
        self.assertEqual(shown["instructions"]["put"], 405)
        self.assertEqual(shown["instructions"]["send"], 408)
        told = json.loads(run(CAY, "trace", "replay", "--json",
                              self.file).stdout)
        self.assertTrue(told["agree"])

    def test_killed_itself(self):
        self.record("/bin/sh", "-c", f"{RECORDED}; kill -9 $$",
                    status=128 + signal.SIGKILL)
        self.assertEqual(self.shown()["ports"], 2)
        self.assertEqual(self.left(), ["trace"])

    def test_several_programs(self):
        self.record("/bin/sh", "-c", f"{RECORDED} && {RECORDED}")
        self.assertEqual(self.shown()["ports"], 4)
        self.assertEqual(self.shown()["instructions"]["send"], 16)
        run(CAY, "trace", "replay", self.file)

    def test_program_takes_its_options(self):
        done = run(CAY, "trace", "record", "-o", self.file, "/bin/sh", "-c",
                   'echo "$@"', "sh", "-o", "--help", "--", status=1,
                   env=environment())
        self.assertEqual(done.stdout, "-o --help --\n")

    # ---- nothing to record ----

    def test_static_program(self):
        said = self.record(STATIC, status=1).stderr
        self.assertIn("nothing was recorded", said)
        self.assertIn("static", said)
        self.assertEqual(self.left(), [])

    def test_no_cay_program(self):
        said = self.record("/bin/true", status=1).stderr
        self.assertIn("nothing was recorded", said)
        self.assertEqual(self.left(), [])

    def test_no_call(self):
        self.assertIn("nothing was recorded",
                      self.record(RECORDED, "silent", status=1).stderr)

    def test_status_of_program_wins(self):
        self.record("/bin/sh", "-c", "exit 5", status=5)

    def test_no_such_program(self):
        said = self.record("/no/such/program", status=127).stderr
        self.assertIn("/no/such/program", said)
        self.record(self.place.name, status=126)
        self.assertEqual(self.left(), [])

    def test_old_trace_stays(self):
        pathlib.Path(self.file).write_text("old\n")
        self.record("/bin/true", status=1)
        self.assertEqual(self.lines(), ["old"])

    def test_no_such_directory(self):
        said = run(CAY, "trace", "record", "-o", "/no/such/file", "--",
                   RECORDED, status=1, env=environment()).stderr
        self.assertIn("/no/such/file", said)

    def test_no_library(self):
        said = self.record(RECORDED, status=1,
                           CAY_TRACE_LIBRARY="/no/such/library").stderr
        self.assertIn("CAY_TRACE_LIBRARY", said)
        self.assertEqual(self.left(), [])

    def test_terminated(self):
        """A signal goes to the program, and the trace is written."""
        record = subprocess.Popen(
            [CAY, "trace", "record", "-o", self.file, "--", "/bin/sh", "-c",
             f"{RECORDED} && echo ready && exec sleep 60"],
            env=environment(), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        self.assertEqual(record.stdout.readline(), "ready\n")
        record.terminate()
        self.assertEqual(record.wait(TIMEOUT_S), 128 + signal.SIGTERM)
        record.stdout.close()
        self.assertEqual(self.shown()["ports"], 2)
        self.assertEqual(self.left(), ["trace"])

    # ---- the other commands ----

    def test_random(self):
        one = run(CAY, "trace", "random", "--seed", "5", "--ports", "4",
                  "--count", "300", "--conflicts").stdout
        again = run(CAY, "trace", "random", "--seed", "5", "--ports", "4",
                    "--count", "300", "--conflicts").stdout
        other = run(CAY, "trace", "random", "--seed", "6", "--ports", "4",
                    "--count", "300", "--conflicts").stdout
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)
        self.assertIn("outcomes are equal", run(CAY, "trace", "replay", "-",
                                        text=one).stdout)
        self.assertEqual(json.loads(run(CAY, "trace", "show", "--json", "-",
                                        text=one).stdout)["ports"], 4)
        self.assertIn("4 ports", run(CAY, "trace", "show", "-",
                                     text=one).stdout)

    def test_many_random(self):
        for seed in range(20):
            text = run(CAY, "trace", "random", "--seed", str(seed), "--ports",
                       str(1 + seed % 9), "--count", "2000").stdout
            run(CAY, "trace", "replay", "-", text=text)

    def test_wrong_file(self):
        for text, said in (("", "empty"), ("cay-trace 9\n", ":1:"),
                           ("cay-trace 1\nport 0\nput 0 0\n", ":3: put needs"),
                           ("cay-trace 1\nqueues posted=3\n", "posted")):
            for command in ("show", "replay"):
                done = run(CAY, "trace", command, "-", text=text, status=1)
                self.assertIn(said, done.stderr)
        run(CAY, "trace", "replay", "/no/such/file", status=1)

    def test_too_much_memory(self):
        text = ("cay-trace 1\nport 0\n"
                "window 0 window=0 bytes=100000000 rights=read\n")
        done = run(CAY, "trace", "replay", "-", text=text, status=1)
        self.assertIn("MiB", done.stderr)

    def test_usage(self):
        for wrong in (["trace"], ["trace", "play"], ["trace", "replay"],
                      ["trace", "show", "a", "b"],
                      ["trace", "replay", "--platform", "moon", "x"],
                      ["trace", "random", "--ports", "0"],
                      ["trace", "random", "--ports", "257"],
                      ["trace", "random", "x"], ["trace", "record", "x"],
                      ["trace", "record", "-o", "x"],
                      ["trace", "record", "--loud", "-o", "x", "y"]):
            self.assertTrue(run(CAY, *wrong, status=2).stderr)
        for right in ([], ["record"], ["replay"], ["show"], ["random"]):
            self.assertIn("usage: cay trace",
                          run(CAY, "trace", *right, "--help").stdout)


def main():
    global CAY, RECORDED, STATIC
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    CAY, RECORDED, STATIC = (os.path.abspath(a) for a in sys.argv[1:4])
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])


if __name__ == "__main__":
    main()
