#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The closing line of tools/run-tests.

usage: test_run_tests.py RUN_TESTS SKIPS

SKIPS is a program of cmocka that passes and skips one case.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN_TESTS, SKIPS = "", ""

PYTHON = """
import unittest
class Case(unittest.TestCase):
    def test_plain(self):
        self.skipTest("reason")
    def test_described(self):
        '''With a description.'''
        self.skipTest("reason")
    def test_passes(self):
        pass
unittest.main(verbosity=VERBOSITY)
"""


class ClosingLine(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name)

    def closing_line(self, *commands):
        """Runs tests with these commands. Returns the line and the status."""
        quoted = lambda word: "'" + word.replace("'", "\\'") + "'"
        lines = ["project('x')"]
        for i, (program, *arguments) in enumerate(commands):
            lines.append(
                f"test('t{i}', find_program({quoted(program)}), args: "
                f"[{', '.join(map(quoted, arguments))}])")
        (self.root / "meson.build").write_text("\n".join(lines) + "\n")
        build = self.root / "build"
        subprocess.run(["meson", "setup", build, self.root], check=True,
                       stdout=subprocess.DEVNULL)
        result = subprocess.run([RUN_TESTS, build], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        return result.stdout.splitlines()[-1], result.returncode

    def script(self, verbosity):
        path = self.root / f"script{verbosity}.py"
        path.write_text(PYTHON.replace("VERBOSITY", str(verbosity)))
        return str(path)

    def test_all_pass(self):
        self.assertEqual(self.closing_line(["sh", "-c", "true"]),
                         ("1 passed, 0 failed", 0))

    def test_skipped_and_failed(self):
        self.assertEqual(
            self.closing_line(["sh", "-c", "exit 77"], ["sh", "-c", "exit 1"],
                              ["sh", "-c", "true"]),
            ("1 passed, 1 failed, 1 skipped", 1))

    def test_only_skipped(self):
        self.assertEqual(self.closing_line(["sh", "-c", "exit 77"]),
                         ("0 passed, 0 failed, 1 skipped", 1))

    def test_case_of_cmocka(self):
        self.assertEqual(
            self.closing_line([SKIPS]),
            ("1 passed, 0 failed, 1 case skipped inside: t0/is_skipped", 0))

    def test_cases_of_python(self):
        self.assertEqual(
            self.closing_line([sys.executable, self.script(2)], [SKIPS],
                              [sys.executable, self.script(1)]),
            ("3 passed, 0 failed, 5 cases skipped inside: "
             "t0/test_described, t0/test_plain, t1/is_skipped, t2/?, t2/?", 0))


if __name__ == "__main__":
    RUN_TESTS, SKIPS = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
