#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Figures and tables of tools/bench, from slices that are made up; and a run.

usage: test_table.py BUILD [TEST...]
"""
import csv
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
import benchtable

BUILD = ""
TIMEOUT = 200  # seconds


def case(slices, section="latency", size=8, problems=None):
    made = benchtable.Case(section, benchtable.size_text(size), section, size,
                           [*slices, *(problems or {})])
    made.slices, made.problems = slices, problems or {}
    return made


def candidates(**groups):
    return {key: types.SimpleNamespace(title=key.upper(), group=group,
                                       version="")
            for key, group in groups.items()}


def turns(ns, handover=100, count=10, lost=0):
    return [[i, ns + i, handover, handover, lost] for i in range(count)]


class Figures(unittest.TestCase):
    def test_clean(self):
        f = benchtable.Figure(turns(200), 100)
        self.assertFalse(f.disturbed)
        self.assertEqual(f.counted, 10)
        self.assertEqual(f.ns, [202.25, 204.5, 206.75])
        self.assertAlmostEqual(f.over_handover[1], 2.045)

    def test_outliers_do_not_count(self):
        """Drift of L, a lost core, another distance: one of each."""
        slices = turns(200)
        slices[0][1:] = [9e9, 100, 111, 0]
        slices[1][1:] = [9e9, 100, 100, 1]
        slices[2][1:] = [9e9, 130, 130, 0]
        f = benchtable.Figure(slices, 100)
        self.assertEqual((f.counted, f.tried), (7, 10))
        self.assertFalse(f.disturbed)
        self.assertEqual(f.ns[1], 206)

    def test_disturbed_still_has_a_figure(self):
        f = benchtable.Figure(turns(200, lost=3), 100)
        self.assertTrue(f.disturbed)
        self.assertEqual((f.counted, f.ns[1]), (0, 204.5))
        # Not even the distance is constant.
        moving = [[i, 200, 30 * (i + 1), 300, 1] for i in range(4)]
        f = benchtable.Figure(moving, 1000)
        self.assertTrue(f.disturbed)
        self.assertEqual(f.ns[1], 200)

    def test_ratio_within_rounds(self):
        """A round in which the cores are farther apart does not distort."""
        a, b = turns(200), turns(100)
        for i in range(4):
            a[i][1] = b[i][1] = 1000
        ratio = benchtable.Figure(a, 100).over(benchtable.Figure(b, 100))
        self.assertAlmostEqual(ratio, (206 / 106 + 207 / 107) / 2, 1)

    def test_ratio_without_common_rounds(self):
        b = [[i + 50, 100, 100, 100, 0] for i in range(10)]
        ratio = benchtable.Figure(turns(200), 100).over(
            benchtable.Figure(b, 100))
        self.assertAlmostEqual(ratio, 2.045)


class Tables(unittest.TestCase):
    def report(self, *cases):
        return benchtable.Report(
            cases, candidates(cay="cay", slow="peer", fast="peer",
                              ring="ring", gone="peer"), {"fast": 1.5}, [])

    def test_best_peer(self):
        report = self.report(case({
            "cay": turns(100), "slow": turns(400), "fast": turns(200),
            "ring": turns(50)}))
        rows = {row["candidate"]: row for row in report.rows(report.cases[0])}
        self.assertEqual([key for key in rows if rows[key]["best"]], ["fast"])
        self.assertAlmostEqual(rows["cay"]["over_best"], 0.51, 2)
        self.assertAlmostEqual(rows["cay"]["over_ring"], 1.92, 2)

    def test_best_peer_at_two_distances(self):
        """A peer is not the best because it was seen when cores were near."""
        report = self.report(case({
            "fast": [[i, 400, 200, 200, 0] for i in range(10)],
            "slow": [[i, 600, 200, 200, 0] if i < 4 else
                     [i, 150, 30, 30, 0] for i in range(10)]}))
        self.assertEqual(report.best(report.cases[0], "peer"), "fast")

    def test_missing(self):
        report = self.report(case({"cay": turns(100)}, problems={
            "gone": "missing: apt-get install gone"}))
        row, = [line for line in report.markdown().splitlines()
                if line.startswith("| GONE")]
        self.assertIn("apt-get install gone", row)

    def test_explained(self):
        text = self.report(case({"cay": turns(100, lost=1),
                                 "fast": turns(200)})).markdown()
        self.assertIn("**L** is", text)
        self.assertIn("**sketch**", text)
        row, = [line for line in text.splitlines()
                if line.startswith("| CAY  ") and "[" in line]
        self.assertIn("disturbed, for orientation", row)
        self.assertIn("0/10", row)
        self.assertIn("2.04 L here, 1.50 L by `ucx_perftest`", text)

    def test_nothing_measured(self):
        report = self.report(case({}, problems={"gone": "failed: x"}))
        self.assertIn("no figure", report.markdown())

    def test_half_bandwidth(self):
        """n1/2 of time = 100 + bytes / 10 is 1000 bytes."""
        report = self.report(*(
            case({"fast": turns(100 + size / 10 - 4.5)}, size=size)
            for size in (8, 64, 512, 4096, 32768, 1 << 20)))
        row = report.half_bandwidth()[1]
        self.assertEqual(row[0], "FAST")
        self.assertAlmostEqual(float(row[1].split()[0]), 10, delta=0.1)
        self.assertAlmostEqual(float(row[3].split()[0]), 1000, delta=20)

    def test_svg(self):
        """A curve for each candidate, also if there is only one point."""
        for sizes in (8,), (8, 64, 4096):
            report = self.report(*(
                case({"cay": turns(100 + size), "fast": turns(2 * size)},
                     size=size) for size in sizes))
            root = xml.etree.ElementTree.fromstring(report.svg())
            tags = [element.tag.rsplit("}", 1)[1] for element in root.iter()]
            self.assertEqual(tags.count("polyline"), 2)
            self.assertEqual(tags.count("circle"), 2 * len(sizes))

    def test_csv(self):
        report = self.report(case({"cay": turns(100)}))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "bench.csv")
            report.write_csv(path)
            row, = csv.DictReader(io.StringIO(path.read_text()))
        self.assertEqual((row["candidate"], row["bytes"]), ("cay", "8"))
        self.assertEqual(row["ns_p50"], "104.5")

    def test_units(self):
        self.assertEqual([benchtable.size_text(n) for n in
                          (1, 1500, 4096, 3 << 20)],
                         ["1 B", "1500 B", "4 KiB", "3 MiB"])
        self.assertEqual([benchtable.ns_text(ns) for ns in
                          (1.234, 12.34, 123.4, 1234, 1.2e7)],
                         ["1.23 ns", "12.3 ns", "123 ns", "1.23 µs",
                          "12.0 ms"])


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
class Runs(unittest.TestCase):
    def bench(self, *arguments):
        return subprocess.run(
            [ROOT / "tools/bench", "--build", BUILD, "--quick", "--rounds",
             "4", *arguments], capture_output=True, text=True,
            timeout=TIMEOUT)

    def test_run(self):
        """Without peers, which tests must not need."""
        with tempfile.TemporaryDirectory() as folder:
            run = self.bench("--out", folder, "--sections", "rate,ports",
                             "--candidates", "cay,pipe,ring,ports-2,ports-64")
            self.assertEqual(run.returncode, 0, run.stderr)
            out = pathlib.Path(folder)
            self.assertEqual((out / "bench.md").read_text().strip(),
                             run.stdout.strip())
            rows = list(csv.DictReader((out / "bench.csv").open()))
            turns_ = list(csv.DictReader((out / "rounds.csv").open()))
        self.assertEqual(
            [(row["section"], row["candidate"]) for row in rows],
            [("rate", key) for key in ("cay", "pipe", "ring")]
            + [("ports", "ports-2"), ("ports", "ports-64")] * 2)
        self.assertTrue(all(float(row["over_L_p50"]) > 0 for row in rows))
        # The time of a case may end it after three rounds.
        self.assertGreaterEqual(len(turns_), 3 * len(rows))
        self.assertLessEqual(len(turns_), 4 * len(rows))

    def test_unknown(self):
        self.assertNotEqual(self.bench("--candidates", "x").returncode, 0)
        self.assertEqual(self.bench("--rounds", "2").returncode, 2)


if __name__ == "__main__":
    BUILD = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
