#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""cay trace: recording of processes, and replay of the recorded traces.

usage: test_record.py CAY RECORDED RECORDED_STATIC [TEST...]

RECORDED is a program of two processes that uses libcay.so, RECORDED_STATIC
the same program linked with the static library.
"""
import json
import os
import pathlib
import re
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
    """The environment of a recorded program, also under ASan."""
    options = os.environ.get("ASAN_OPTIONS", "")
    return {**os.environ, "CAY_NODE": f"trace-{os.getpid()}",
            "ASAN_OPTIONS": f"{options}:verify_asan_link_order=0", **more}


class Trace(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.file = str(pathlib.Path(self.directory.name, "trace"))

    def tearDown(self):
        self.directory.cleanup()

    def files(self):
        return sorted(os.listdir(self.directory.name))

    def record(self, *program, status=0, **more):
        return run(CAY, "trace", "record", "-o", self.file, "--", *program,
                   status=status, env=environment(**more))

    def lines(self):
        return pathlib.Path(self.file).read_text().splitlines()

    def summary(self, path=None):
        return json.loads(run(CAY, "trace", "show", "--json",
                              path or self.file).stdout)

    # ---- recording ----

    def test_two_processes(self):
        message = self.record(RECORDED).stderr
        self.assertIn("2 ports in 2 processes", message)
        self.assertEqual(self.files(), ["trace"])
        summary = self.summary()
        self.assertEqual(summary["ports"], 2)
        self.assertEqual(summary["memory_bytes"], 4096)
        # The number of polls depends on timing.
        self.assertGreater(summary["instructions"].pop("drain"), 2)
        self.assertEqual(summary["instructions"], {
            "window": 1, "window_close": 1, "window_lock": 1,
            "window_unlock": 1, "peer_resolve": 2, "peer_release": 2,
            "send": 11, "put": 5, "put_masked": 1, "get": 2, "fetch_add": 2,
            "compare_swap": 2, "flush": 1, "port_close": 2})

    def test_replay_on_all_platforms(self):
        self.record(RECORDED)
        report = json.loads(run(CAY, "trace", "replay", "--json",
                              self.file).stdout)
        self.assertTrue(report["agree"])
        self.assertEqual([r["platform"] for r in report["runs"]],
                         ["real", "counting", "model"])
        real = report["runs"][0]
        # The second process: eight completions of accesses, two of messages,
        # the key; the first one: ten messages.
        self.assertEqual(sorted(p["notifications"] for p in real["ports"]),
                         [10, 11])
        self.assertEqual(real["refused"], 2)
        for other in report["runs"][1:]:
            self.assertEqual(other["ports"], real["ports"])
            self.assertEqual(other["memory"], real["memory"])

    def test_peers_resolved_by_reply_and_in_the_background(self):
        for how, released in (("reply", 1), ("start", 2)):
            self.record(RECORDED, how)
            summary = self.summary()["instructions"]
            self.assertEqual(summary["peer_resolve"], 2, how)
            self.assertEqual(summary["peer_release"], released, how)
            self.assertEqual(summary["send"], 11, how)
            report = json.loads(run(CAY, "trace", "replay", "--json",
                                    self.file).stdout)
            self.assertTrue(report["agree"])

    def test_replay_on_each_platform(self):
        self.record(RECORDED)
        digests = set()
        for platform in ("real", "counting", "model"):
            report = json.loads(run(CAY, "trace", "replay", "--platform",
                                  platform, "--json", self.file).stdout)
            self.assertEqual(len(report["runs"]), 1)
            digests.add(json.dumps([report["runs"][0][k]
                                    for k in ("ports", "memory")]))
        self.assertEqual(len(digests), 1)

    def test_program_order(self):
        self.record(RECORDED)
        tags = [line.split("tag=")[1].split()[0] for line in self.lines()
                if " send 1 " in line or " send 0 " in line
                if "tag=" in line and int(line.split("tag=")[1].split()[0],
                                          16) >= 20]
        self.assertEqual(tags, ["0x14", "0x15", "0x16", "0x17", "0x18",
                                "0x19", "0x1a", "0x1b", "0x3e8"])
        times = [re.match(r"@(\d+)\+(\d+)/(\d+) ", line).groups()
                 for line in self.lines() if line.startswith("@")]
        starts = [int(start) for start, _, _ in times]
        self.assertEqual(starts, sorted(starts))
        self.assertEqual(len({thread for _, _, thread in times}), 2)
        # One port in each of the two processes.
        processes = [line.split("process=")[1] for line in self.lines()
                     if line.startswith("port ")]
        self.assertEqual(len(set(processes)), 2)

    def test_keys_are_numbered(self):
        self.record(RECORDED)
        keys = {line.split("key=")[1].split()[0] for line in self.lines()
                if "key=" in line}
        self.assertEqual(keys, {"0x1", "0x2"})

    def test_exit_status(self):
        self.record(RECORDED, "exit", "7", status=7)
        self.assertEqual(self.files(), ["trace"])
        run(CAY, "trace", "replay", self.file)

    def test_child_is_killed(self):
        self.record(RECORDED, "kill")
        summary = self.summary()
        self.assertEqual(summary["instructions"]["send"], 10)
        self.assertEqual(summary["instructions"]["port_close"], 1)
        run(CAY, "trace", "replay", self.file)

    def test_threads(self):
        self.record(RECORDED, "threads")
        summary = self.summary()
        self.assertEqual(summary["ports"], 2)
        self.assertEqual(summary["instructions"]["fetch_add"], 402)
        self.assertEqual(summary["instructions"]["put"], 405)
        self.assertEqual(summary["instructions"]["send"], 411)
        report = json.loads(run(CAY, "trace", "replay", "--json",
                              self.file).stdout)
        self.assertTrue(report["agree"])

    def test_program_is_killed(self):
        self.record("/bin/sh", "-c", f"{RECORDED}; kill -9 $$",
                    status=128 + signal.SIGKILL)
        self.assertEqual(self.summary()["ports"], 2)
        self.assertEqual(self.files(), ["trace"])

    def test_several_programs(self):
        self.record("/bin/sh", "-c", f"{RECORDED} && {RECORDED}")
        self.assertEqual(self.summary()["ports"], 4)
        self.assertEqual(self.summary()["instructions"]["send"], 22)
        run(CAY, "trace", "replay", self.file)

    def test_library_of_a_plugin(self):
        """libcay is not among the libraries of the program itself."""
        plugin = pathlib.Path(RECORDED).parent / "librecorded_plugin.so"
        if not plugin.exists():
            self.skipTest("not built with a sanitizer")
        script = f"import ctypes; ctypes.CDLL('{plugin}').main(0, None)"
        message = self.record(sys.executable, "-c", script).stderr
        self.assertIn("2 ports in 2 processes", message)

    def test_options_of_the_program(self):
        done = run(CAY, "trace", "record", "-o", self.file, "/bin/sh", "-c",
                   'echo "$@"', "sh", "-o", "--help", "--", status=1,
                   env=environment())
        self.assertEqual(done.stdout, "-o --help --\n")

    # ---- nothing to record ----

    def test_static_program(self):
        message = self.record(STATIC, status=1).stderr
        self.assertIn("nothing was recorded", message)
        self.assertIn("static", message)
        self.assertEqual(self.files(), [])

    def test_program_without_cay(self):
        message = self.record("/bin/true", status=1).stderr
        self.assertIn("nothing was recorded", message)
        self.assertEqual(self.files(), [])

    def test_no_call(self):
        self.assertIn("nothing was recorded",
                      self.record(RECORDED, "silent", status=1).stderr)

    def test_status_of_the_program(self):
        self.record("/bin/sh", "-c", "exit 5", status=5)

    def test_no_such_program(self):
        message = self.record("/no/such/program", status=127).stderr
        self.assertIn("/no/such/program", message)
        self.assertNotIn("nothing was recorded", message)
        message = self.record(self.directory.name, status=126).stderr
        self.assertNotIn("nothing was recorded", message)
        self.assertEqual(self.files(), [])

    def test_existing_trace_is_kept(self):
        pathlib.Path(self.file).write_text("old\n")
        self.record("/bin/true", status=1)
        self.assertEqual(self.lines(), ["old"])

    def test_no_such_directory(self):
        message = run(CAY, "trace", "record", "-o", "/no/such/file", "--",
                   RECORDED, status=1, env=environment()).stderr
        self.assertIn("/no/such/file", message)

    def test_no_library(self):
        message = self.record(RECORDED, status=1,
                           CAY_TRACE_LIBRARY="/no/such/library").stderr
        self.assertIn("CAY_TRACE_LIBRARY", message)
        self.assertEqual(self.files(), [])

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
        self.assertEqual(self.summary()["ports"], 2)
        self.assertEqual(self.files(), ["trace"])

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

    def test_machines(self):
        text = run(CAY, "trace", "random", "--seed", "5", "--ports", "4",
                   "--count", "300").stdout
        replay = [CAY, "trace", "replay", "--platform"]
        for options in ([], ["--machines", "3", "--delay", "5", "--seed", "9"],
                        ["--preset", "single", "--in-flight", "1"],
                        ["--set", "mtu=64", "--set", "encode-local=1"]):
            self.assertIn("outcomes are equal", run(
                *replay, "all", *options, "-", text=text).stdout)
        one, = json.loads(run(*replay, "machine", "--json", "--machines", "2",
                              "-", text=text).stdout)["runs"]
        self.assertEqual(one["platform"], "machine")
        self.assertTrue(one["cycles"] > 300 and one["packets"] > 100)

        # The order by command is weaker than the one that is compared.
        weak = run(*replay, "all", "--set", "key-type=1", "--delay", "9", "-",
                   text=text, status=1)
        self.assertIn("The outcomes differ. real; machine:", weak.stdout)

        words = ("cay-trace 2\nport 0 words\nport 1\n"
                 "window 1 window=0 key=1 bytes=64 rights=write\n"
                 "put 0 1 window=0 key=1 offset=0 bytes=5\n")
        one, = json.loads(run(*replay, "machine", "--json", "-",
                              text=words).stdout)["runs"]
        self.assertEqual(one["refused"], 1)
        for wrong in (["--set", "requesters=0"], ["--set", "requesters"],
                      ["--set", "unknown=1"], ["--preset", "fast"],
                      ["--machines", "17"], ["--in-flight", "0"]):
            run(*replay, "all", *wrong, "-", text=text, status=2)

    def test_invalid_file(self):
        for text, message in (("", "empty"), ("cay-trace 9\n", ":1:"),
                           ("cay-trace 1\nport 0\nput 0 0\n", ":3: put needs"),
                           ("cay-trace 1\nqueues posted=3\n", "posted")):
            for command in ("show", "replay"):
                done = run(CAY, "trace", command, "-", text=text, status=1)
                self.assertIn(message, done.stderr)
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
