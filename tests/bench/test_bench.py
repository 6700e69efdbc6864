#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The command cay bench: exit status, JSON, and processes it leaves behind.

usage: test_bench.py CAY [TEST...]

Figures depend on the machine and its load, so no test looks at their size: a
run may always be disturbed, but it must report that.
"""
import glob
import json
import os
import subprocess
import sys
import time
import unittest

CAY = ""
TIMEOUT = 60  # seconds; a run takes milliseconds on an idle machine
GONE = 5  # seconds until all processes of a killed run have ended
DONE, FAILED, USAGE, DISTURBED = 0, 1, 2, 3


def until(condition, seconds):
    """Waits for a condition. Returns whether it became true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return []


def processes_of(node):
    """The processes of a node: ports and the node itself."""
    setting = b"CAY_NODE=" + node.encode()
    return [path for path in glob.glob("/proc/[0-9]*")
            if setting in read(path + "/environ") or
            node.encode() in read(path + "/cmdline")]


class BenchTest(unittest.TestCase):
    def setUp(self):
        self.node = f"{self.id().rsplit('.', 1)[1]}-{os.getpid()}"
        self.environment = dict(os.environ, CAY_NODE=self.node)

    def bench(self, *arguments):
        return subprocess.run(
            [CAY, "bench", *arguments], env=self.environment,
            capture_output=True, text=True, timeout=TIMEOUT)


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
class Runs(BenchTest):
    def check_figures(self, result, workloads=("L", "baseline", "Cay")):
        for workload in workloads:
            self.assertGreater(result[workload]["p50_ns"], 0)
            self.assertGreater(result[workload]["p99_samples"], 0)
        self.assertLessEqual(result["kept"], result["tried"])
        if result["disturbed"]:
            self.assertTrue(result["why"])
            self.assertNotIn("targets", result)
        else:
            self.assertGreaterEqual(result["kept"] * 2, 3)

    def check(self, run, cases, baseline="baseline"):
        """Checks a report and returns it."""
        self.assertIn(run.returncode, (DONE, DISTURBED), run.stderr)
        report = json.loads(run.stdout)
        self.assertEqual(len(report["results"]), cases)
        for result in report["results"]:
            self.check_figures(result, ("L", baseline, "Cay"))
        disturbed = any(r["disturbed"] for r in report["results"])
        self.assertEqual(run.returncode, DISTURBED if disturbed else DONE)
        for advice in "disturbed", "close other load", "--cores":
            (self.assertIn if disturbed else
             self.assertNotIn)(advice, run.stderr)
        return report

    def test_json(self):
        run = self.bench("latency", "--sizes", "8", "--rounds", "3", "--json")
        report = self.check(run, 1)
        self.assertEqual(report["command"],
                         "cay bench latency --sizes 8 --rounds 3 --json")
        self.assertEqual(report["results"][0]["bytes"], 8)

    def test_long(self):
        """Copied; borrowed from malloc(), fetched, and from cay_alloc()."""
        self.check(self.bench("latency", "--sizes", "64K", "--rounds", "3",
                              "--json"), 4)

    def check_rma(self, report, keys):
        self.assertEqual({r["key"] for r in report["results"]}, keys)

    def test_rma_words(self):
        run = self.bench("rma", "--sizes", "8", "--rounds", "3", "--json")
        report = self.check(run, 9)
        self.check_rma(report, {"put", "put_flush", "fetch_add",
                                "fetch_add_into", "compare_swap",
                                "get_flush", "get_event", "put_masked",
                                "emulated"})
        put = report["results"][0]
        self.assertEqual(put["key"], "put")
        if not put["disturbed"]:
            target, = put["targets"]
            self.assertEqual(target["met"], put["Cay"]["p50_ns"] <=
                             target["limit_ns"])

    def test_ultra(self):
        run = self.bench("ultra", "--rounds", "3", "--json")
        report = self.check(run, 3)
        self.assertEqual([r["bytes"] for r in report["results"]], [8, 48, 8])

    def test_rma_bytes(self):
        """Any length, not only whole words."""
        for size in "0", "1", "23", "4K":
            run = self.bench("rma", "--sizes", size, "--rounds", "3",
                             "--json")
            report = self.check(run, 4, "memcpy")
            bytes_of = report["results"][0]["bytes"]
            self.check_rma(report, {
                f"{operation}_{bytes_of}_{memory}"
                for operation in ("put", "get")
                for memory in ("alloc", "malloc")})

    def test_rma_posted(self):
        run = self.bench("rma", "--sizes", "64K", "--rounds", "3", "--json")
        report = json.loads(run.stdout)
        self.assertIn(run.returncode, (DONE, DISTURBED), run.stderr)
        self.check_rma(report, {
            "put_65536_alloc", "put_65536_malloc", "get_65536_alloc",
            "get_65536_malloc", "posted_65536", "copied_65536",
            "reference_65536_alloc", "reference_65536_malloc"})

    def test_default(self):
        """Latency of a few sizes, and a few cases of remote memory."""
        run = self.bench("--rounds", "2", "--json")
        self.assertIn(run.returncode, (DONE, DISTURBED), run.stderr)
        report = json.loads(run.stdout)
        self.assertEqual([r["bench"] for r in report["results"]],
                         ["latency"] * 7 + ["rma"] * 3)
        self.check_rma({"results": report["results"][7:]},
                       {"put", "put_flush", "fetch_add"})

    def test_under_load(self):
        cores = sorted(os.sched_getaffinity(0))[:2]
        load = [subprocess.Popen(
            [sys.executable, "-c", "import os\n"
             f"os.sched_setaffinity(0, [{core}])\n"
             "while os.getppid() == %d: pass" % os.getpid()])
            for core in cores]
        try:
            run = self.bench("latency", "--sizes", "8", "--rounds", "20",
                             "--json", "--cores", f"{cores[0]},{cores[1]}")
        finally:
            for process in load:
                process.kill()
                process.wait()
        self.check(run, 1)

    def test_table(self):
        """A disturbed result has figures, but no target."""
        run = self.bench("latency", "--sizes", "8", "--rounds", "3")
        self.assertIn(run.returncode, (DONE, DISTURBED), run.stderr)
        row, = [line for line in run.stdout.splitlines()
                if line.startswith("8 B Fast Send")]
        self.assertRegex(row, r"\d/\d+$")
        self.assertEqual("disturbed, for orientation" in run.stdout,
                         run.returncode == DISTURBED)
        self.assertEqual("target" in run.stdout, run.returncode == DONE)

    def check_killed(self, *arguments):
        run = subprocess.Popen(
            [CAY, "bench", *arguments], env=self.environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            # The command, two or more ranks, and the node.
            self.assertTrue(until(
                lambda: len(processes_of(self.node)) >= 4, TIMEOUT))
            self.assertIsNone(run.poll())
        finally:
            run.kill()
            run.wait()
        self.assertTrue(until(lambda: not processes_of(self.node), GONE),
                        processes_of(self.node))

    def test_killed(self):
        self.check_killed("latency", "--sizes", "1M", "--rounds", "5000")

    def test_killed_ring(self):
        self.check_killed("ring", "--rounds", "5000")

    def test_killed_rma(self):
        self.check_killed("rma", "--sizes", "1M", "--rounds", "5000")

    def test_nothing_left(self):
        self.bench("latency", "--sizes", "8", "--rounds", "2")
        self.assertTrue(until(lambda: not processes_of(self.node), TIMEOUT))

    def test_samples_cannot_be_written(self):
        run = self.bench("latency", "--sizes", "8", "--rounds", "2",
                         "--samples", "/nowhere/samples.csv")
        self.assertEqual(run.returncode, FAILED)
        self.assertEqual(run.stdout, "")
        self.assertIn("/nowhere/samples.csv", run.stderr)

    def test_cores_that_are_not_there(self):
        for cores in "0,0", "0,32767":
            run = self.bench("--cores", cores)
            self.assertEqual(run.returncode, FAILED, cores)
            self.assertEqual(run.stdout, "")
            self.assertIn("--cores " + cores, run.stderr)


class Usage(BenchTest):
    WRONG = [
        ["--what"], ["latency", "--what"], ["-x"], ["nonsense"],
        ["latency", "rate"], ["--rounds"], ["--rounds", "1"],
        ["--rounds", "5001"], ["--rounds", "-3"], ["--rounds", "3x"],
        ["--sizes", ""], ["--sizes", "8,"], ["--sizes", "2M"],
        ["--sizes", ",".join("8" * 17)], ["--sizes", "-1"],
        ["--cores", "0"], ["--cores", "0,1,2"], ["--cores", "a,b"],
        ["--processes", "1"], ["--processes", "65"]]

    def test_help(self):
        run = self.bench("--help")
        self.assertEqual(run.returncode, DONE)
        self.assertIn("usage: cay bench", run.stdout)
        self.assertEqual(run.stderr, "")

    def test_wrong(self):
        for arguments in self.WRONG:
            with self.subTest(arguments=arguments):
                run = self.bench(*arguments)
                self.assertEqual(run.returncode, USAGE)
                self.assertEqual(run.stdout, "")
                self.assertIn("try: cay bench --help", run.stderr)


if __name__ == "__main__":
    CAY = sys.argv.pop(1)
    unittest.main(verbosity=2)
