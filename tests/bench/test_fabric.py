#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of libfabric providers runs over Cay's and reports in JSON.

usage: test_fabric.py PROGRAM BUILD [TEST...]

PROGRAM is fabric-latency, BUILD the folder with libcay-fi.so and cay. Figures
depend on the machine and its load: no test looks at their size, and any of them
may be refused.
"""
import collections
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = BUILD = ""
TIMEOUT = 200  # seconds; a run takes one on an idle machine
CASES = {"inject_8": 8, "send_8": 8, "rate_8": 8, "send_4096": 4096,
         "send_65536": 65536, "send_1048576": 1 << 20,
         "stream_1048576": 1 << 20}
DONE, FAILED, USAGE, DISTURBED = 0, 1, 2, 3


class FabricTest(unittest.TestCase):
    def run_program(self, *arguments):
        node = f"{self.id().rsplit('.', 1)[1]}-{os.getpid()}"
        environment = dict(os.environ, FI_PROVIDER_PATH=BUILD, CAY_NODE=node)
        environment.pop("FI_PROVIDER", None)
        return subprocess.run([PROGRAM, *arguments], env=environment,
                              capture_output=True, text=True,
                              timeout=TIMEOUT)

    def check_result(self, result, providers):
        self.assertEqual(result["tried"], sum(
            result[status] for status in
            ("kept", "drifted", "preempted", "outlier")))
        for provider in providers:
            self.assertEqual(provider in result, not result["refused"])
        if result["refused"]:
            return
        self.assertGreaterEqual(result["kept"] * 2, result["tried"])
        for name in "L", *providers:
            figure = result[name]
            self.assertGreater(figure["p50_ns"], 0)
            self.assertGreater(figure["p99_ns"], 0)
            self.assertGreater(figure["p50_samples"], 0)
            self.assertGreater(figure["p99_samples"], 0)

    def check(self, run, cases, providers):
        self.assertIn(run.returncode, (DONE, DISTURBED), run.stderr)
        self.assertEqual(run.stderr, "")
        report = json.loads(run.stdout)
        self.assertEqual({r["key"]: r["bytes"] for r in report["results"]},
                         cases)
        for result in report["results"]:
            self.check_result(result, providers)
        self.assertEqual(run.returncode == DISTURBED, any(
            r["refused"] for r in report["results"]))
        return report["results"]


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
class Runs(FabricTest):
    def test_all_cases(self):
        self.check(self.run_program("--provider", "cay", "--quick"), CASES,
                   ["cay"])

    def test_alternating(self):
        """Every sample is in the CSV file."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "samples.csv")
            result, = self.check(
                self.run_program("--provider", "shm", "--provider", "cay",
                                 "--case", "inject_8", "--quick",
                                 "--samples", path),
                {"inject_8": 8}, ["shm", "cay"])
            with path.open() as f:
                rows = list(csv.DictReader(f))
        count = collections.Counter((r["workload"], r["kind"]) for r in rows)
        for provider in "shm", "cay":
            self.assertEqual(count[provider, "batch"], 4 * result["tried"])
            self.assertEqual(count[provider, "single"], 32 * result["tried"])
        self.assertTrue(all(float(r["ns"]) > 0 for r in rows))

    def test_no_such_provider(self):
        run = self.run_program("--provider", "nowhere", "--quick")
        self.assertEqual(run.returncode, FAILED)
        self.assertIn("nowhere", run.stderr)
        failure, = json.loads(run.stdout)["results"]
        self.assertIn("nowhere", failure["failure"])


class Usage(FabricTest):
    WRONG = [[], ["--what"], ["--provider"], ["--provider", "cay", "more"],
             ["--provider", "cay", "--case", "nonsense"],
             ["--provider", "a", "--provider", "b", "--provider", "c",
              "--provider", "d"]]

    def test_wrong(self):
        for arguments in self.WRONG:
            with self.subTest(arguments=arguments):
                run = self.run_program(*arguments)
                self.assertEqual(run.returncode, USAGE)
                self.assertEqual(run.stdout, "")
                self.assertIn("usage: fabric-latency", run.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    BUILD = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
