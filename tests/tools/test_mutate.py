#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tools/mutate on a small project.

usage: test_mutate.py MUTATE
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MUTATE = ""
TIMEOUT = 300

SOURCE = """#include <signal.h>
#include <unistd.h>
static int add(int a, int b)
{
	return a + b;
}
int main(void)
{
	int unused = 7;
	(void)unused;
	return add(2, 3) == 5 ? 0 : 1;
}
"""

MESON = """project('toy', 'c')
program = executable('toy', 'toy.c')
test('sum', program)
"""

EDITS = {
    "found": ("a + b", "a - b"),
    "survivor": ("unused = 7", "unused = 8"),
    "explained": ("unused = 7", "unused = 9"),
    "crashes": ("return a + b;", "return *(volatile int *)0;"),
    "does-not-compile": ("a + b", "a + c"),
    "drifted": ("a * b", "a - b"),
    "sleeps": ("return a + b;", "return (int)sleep(1000) + a + b;"),
    "alarms": ("return a + b;", "return kill(getpid(), SIGALRM) + a + b;"),
}


class Mutate(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.root = pathlib.Path(self.directory.name, "project")
        (self.root / "tools").mkdir(parents=True)
        (self.root / "tests" / "mutate").mkdir(parents=True)
        shutil.copy(MUTATE, self.root / "tools" / "mutate")
        (self.root / "toy.c").write_text(SOURCE)
        (self.root / "meson.build").write_text(MESON)
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def edits(self, *names):
        text = ""
        for name in names:
            old, new = EDITS[name]
            text += (f"[[edit]]\nname = '{name}'\nfile = 'toy.c'\n"
                     f"old = '{old}'\nnew = '{new}'\ntests = ['sum']\n"
                     f"why = 'because of {name}'\n")
            if name == "explained":
                text += "survives = 'nothing uses it'\n"
        (self.root / "tests" / "mutate" / "toy.toml").write_text(text)

    def start(self, *arguments):
        # A background job of a script ignores SIGINT.
        return subprocess.Popen(
            [str(self.root / "tools" / "mutate"), *arguments],
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run_mutate(self, *arguments):
        process = self.start(*arguments)
        out, _ = process.communicate(timeout=TIMEOUT)
        # Nothing is left, and the tree is as before.
        self.assertEqual((self.root / "toy.c").read_text(), SOURCE)
        self.assertFalse((self.root / "build-mutate").exists())
        return process.returncode, out

    def test_found_and_explained(self):
        self.edits("found", "crashes", "explained")
        status, out = self.run_mutate()
        self.assertEqual(status, 0, out)
        self.assertIn("found: found", out)
        self.assertIn("survived as explained: explained: nothing", out)
        self.assertIn("2 of 3 found (66.7 %), 0 unexplained", out)

    def test_survivor(self):
        self.edits("found", "survivor")
        status, out = self.run_mutate("--jobs", "2")
        self.assertEqual(status, 1, out)
        self.assertIn("survived: survivor: because of survivor", out)
        self.assertIn("1 of 2 found (50.0 %), 1 unexplained", out)

    def test_broken_edit(self):
        self.edits("does-not-compile", "found")
        status, out = self.run_mutate()
        self.assertEqual(status, 1, out)
        self.assertIn("error: does-not-compile", out)
        self.assertIn("found: found", out)

    def test_test_fails_without_edit(self):
        self.edits("found")
        meson = MESON.replace("program)", "program, env: ['X=1'], "
                              "args: 'x')")
        source = SOURCE.replace("int main(void)", "int main(int n, char **v)")
        source = source.replace("return add", "(void)v;\n\treturn n == 1 && add")
        (self.root / "meson.build").write_text(meson)
        (self.root / "toy.c").write_text(source)
        process = self.start()
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1)
        self.assertIn("without any edit: sum", out)

    def test_only(self):
        self.edits("found", "survivor")
        status, out = self.run_mutate("--only", "toy/fou")
        self.assertEqual(status, 0, out)
        self.assertIn("1 of 1 found", out)

    def test_check(self):
        self.edits("found", "drifted")
        status, out = self.run_mutate("--check")
        self.assertEqual(status, 1)
        self.assertIn("drifted: toy.c has the old text 0 times", out)
        self.edits("found")
        self.assertEqual(self.run_mutate("--check"), (0, "1 edits apply\n"))
        status, out = self.run_mutate("--list")
        self.assertEqual((status, out),
                         (0, "toy/found: toy.c: because of found\n"))

    def test_hang_is_not_slowness(self):
        """The test is slower than when its time without the edit was taken."""
        self.edits("survivor", "sleeps", "alarms")
        slow = SOURCE.replace(
            "\tint unused = 7;", "\tint unused = 7;\n"
            "\tif (close(open(\"ran\", O_CREAT | O_EXCL, 0600)))\n"
            "\t\tsleep(2);").replace("<unistd.h>", "<unistd.h>\n"
                                     "#include <fcntl.h>")
        (self.root / "toy.c").write_text(slow)
        process = self.start("--seconds", "1")
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1, out)
        self.assertIn("survived: survivor", out)
        self.assertRegex(out, "found: sleeps .* sum: hangs")
        self.assertRegex(out, "found: alarms .* sum: hangs")

    def test_interrupted(self):
        """While a test hangs: its process ends, and the copy is removed."""
        for number in signal.SIGINT, signal.SIGTERM:
            with self.subTest(number):
                self.interrupt(number)

    def interrupt(self, number):
        self.edits("sleeps")
        process = self.start("--no-baseline")
        toy = str(self.root / "build-mutate" / "0" / "build" / "toy")
        deadline = time.monotonic() + TIMEOUT
        while not self.runs(toy):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        process.send_signal(number)
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130, out)
        self.assertIn("1 not tried", out)
        self.assertFalse(self.runs(toy))
        self.assertFalse((self.root / "build-mutate").exists())

    def runs(self, program):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/exe") == program:
                    return True
            except OSError:
                pass
        return False


if __name__ == "__main__":
    MUTATE = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
