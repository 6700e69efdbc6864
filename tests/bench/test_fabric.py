#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The benchmark of libfabric providers works over Cay's, and says so.

usage: test_fabric.py BUILD [TEST...]

BUILD is where libcay-fi.so and cay are. A figure depends on the machine and
on what else it does: no test here looks at how large one is, and a run may
always be refused.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ""
PATIENCE = 200  # seconds for what takes one on a quiet machine
FLAGS = ["-std=gnu17", "-O1", "-D_GNU_SOURCE", "-Isrc", "-Iinclude"]
KINDS = {"inject_8": 8, "send_8": 8, "rate_8": 8, "send_4096": 4096,
         "send_65536": 65536, "send_1048576": 1 << 20,
         "stream_1048576": 1 << 20}
DONE, FAILED, USAGE = 0, 1, 2


def compile_program(folder):
    program = folder / "fabric"
    sources = [*sorted((ROOT / "src/bench/fabric").glob("*.c")),
               *(ROOT / f"src/bench/{name}.c"
                 for name in ("harness/cores", "harness/samples", "harness/round"))]
    libfabric = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libfabric"],
        capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["cc", *FLAGS, *map(str, sources), *libfabric,
                    "-o", str(program)], check=True, cwd=ROOT)
    return program


class FabricTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = compile_program(pathlib.Path(cls.folder.name))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_program(self, *arguments):
        node = f"{self.id().rsplit('.', 1)[1]}-{os.getpid()}"
        environment = dict(os.environ, FI_PROVIDER_PATH=BUILD, CAY_NODE=node)
        environment.pop("FI_PROVIDER", None)
        return subprocess.run([self.program, *arguments], env=environment,
                              capture_output=True, text=True,
                              timeout=PATIENCE)

    def check_carrier(self, kind, carrier):
        self.assertEqual(len(carrier["batches_ns"]) % kind["tried"], 0)
        for samples in carrier["batches_ns"], carrier["trips_ns"]:
            self.assertTrue(all(ns > 0 for ns in samples))
        low, high = min(carrier["batches_ns"]), max(carrier["batches_ns"])
        self.assertTrue(low - 1 <= carrier["p50_ns"] <= high + 1, carrier)
        self.assertGreater(carrier["p99_ns"], 0)
        self.assertGreater(carrier["p50_samples"], 0)
        self.assertGreater(carrier["p99_samples"], 0)

    def check_kind(self, kind, carriers):
        self.assertEqual(len(kind["slices"]), kind["tried"])
        kept = [name for _, name in kind["slices"] if name == "kept"]
        self.assertEqual(len(kept), kind["kept"])
        self.assertEqual(kind["refused"], kind["kept"] * 2 < kind["tried"])
        self.assertEqual("carriers" in kind, not kind["refused"])
        if kind["refused"]:
            return
        self.assertGreater(kind["handover_ns"], 0)
        self.assertEqual(list(kind["carriers"]), carriers)
        for carrier in kind["carriers"].values():
            self.check_carrier(kind, carrier)

    def check(self, run, kinds, carriers):
        self.assertEqual(run.returncode, DONE, run.stderr)
        self.assertEqual(run.stderr, "")
        report = json.loads(run.stdout)
        self.assertEqual({name: kind["bytes"]
                          for name, kind in report["kinds"].items()}, kinds)
        for kind in report["kinds"].values():
            self.check_kind(kind, carriers)


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
class Runs(FabricTest):
    def test_all_kinds(self):
        self.check(self.run_program("--provider", "cay", "--quick"), KINDS,
                   ["cay"])

    def test_in_turns(self):
        self.check(self.run_program("--provider", "shm", "--provider", "cay",
                                    "--kind", "inject_8", "--quick"),
                   {"inject_8": 8}, ["shm", "cay"])

    def test_no_such_provider(self):
        run = self.run_program("--provider", "nowhere", "--quick")
        self.assertEqual(run.returncode, FAILED)
        self.assertIn("nowhere", run.stderr)
        self.assertEqual(run.stdout, "")


class Usage(FabricTest):
    WRONG = [[], ["--what"], ["--provider"], ["--provider", "cay", "more"],
             ["--provider", "cay", "--kind", "nonsense"],
             ["--provider", "a", "--provider", "b", "--provider", "c",
              "--provider", "d"]]

    def test_wrong(self):
        for arguments in self.WRONG:
            with self.subTest(arguments=arguments):
                run = self.run_program(*arguments)
                self.assertEqual(run.returncode, USAGE)
                self.assertEqual(run.stdout, "")
                self.assertIn("usage: fabric", run.stderr)


if __name__ == "__main__":
    BUILD = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
