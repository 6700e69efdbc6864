#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of cay top: bytes per second, the help screen and colours.

usage: test_top_view.py CAY TRAFFIC [TEST...]
"""
import json
import os
import re
import signal
import sys
import time
import unittest

import test_cli
import test_top
from test_cli import until
from test_top import Terminal, TopTest

YELLOW, RED = b"\033[1;33m", b"\033[1;31m"


class DataRate(TopTest):
    def moved(self, data, delay="2"):
        """Sends during an interval. Returns the port, entries and bytes."""
        receiver = self.receive(collect=True)
        top = self.start("top", "--json", "-n", "1", "-d", delay)
        time.sleep(0.3)
        self.send("--lines", "--ack", "x", data=data)
        sample = json.loads(self.finish(top))
        port = self.port_of(receiver.pid, sample)
        rate = port["data_bytes_per_s"]
        receiver.kill()
        receiver.wait()
        self.assertTrue(until(lambda: not any(
            p["name"] == "x" for p in self.ports())))
        entries = round(port["received_per_s"] * sample["elapsed_s"])
        return port, entries, rate and round(rate * sample["elapsed_s"])

    def test_exact(self):
        """1000 bytes use 16 units of 64 bytes."""
        port, _, moved = self.moved((b"a" * 1000 + b"\n") * 1000)
        self.assertFalse(port["data_estimated"])
        self.assertAlmostEqual(moved, 1000 * 1024, delta=1)

    def test_inline(self):
        """Up to 40 bytes are in the entry."""
        _, entries, moved = self.moved((b"a" * 40 + b"\n") * 1000)
        self.assertIn(entries, (1000, 1001))
        self.assertEqual(moved, 0)

    def test_count_wraps(self):
        """More than the 64 MiB that the count of W can tell apart."""
        for _ in range(10):
            _, entries, moved = self.moved((b"a" * 8000 + b"\n") * 12000)
            # The messages may end after the interval, and the rate is unknown
            # if the machine is too busy to follow the port.
            if moved is not None and entries >= 12000:
                break
        else:
            self.skipTest("the machine is too busy")
        # 125 units each, and up to 124 that are skipped in a lap.
        self.assertGreaterEqual(moved, 12000 * 8000)
        self.assertLess(moved, 12000 * 8000 * 1.2)

    def test_column(self):
        self.receive(collect=True)
        result = self.run_cay("top", "-n", "1", "-d", "0.1")
        text = result.stdout.decode()
        self.assertIn("DATA/S", text)
        self.assertIn("in the queues: 0 entries, 0 B", text)
        self.assertNotIn("queued", text)


class Screen(TopTest):
    def terminal(self, *arguments, **options):
        return Terminal(self, test_cli.CAY, "top", "-d", "0.1", *arguments,
                        **options)

    def fill(self):
        """A port whose queue is full, because its owner is stopped."""
        receiver = self.receive(name="full-port")
        receiver.send_signal(signal.SIGSTOP)
        self.send("--lines", "--wait", "0.1", "full-port",
                  data=b"x\n" * 5000, status=1)
        return receiver

    def styled(self, output, name):
        """The attributes of the lines with this text."""
        return {m[1] for m in re.finditer(
            rb"((?:\033\[[0-9;]*m)*)[^\033\n]*" + name, output)}

    def test_help(self):
        self.receive(name="some-port")
        terminal = self.terminal(rows=60)
        self.assertTrue(terminal.settled(
            lambda f: any("? help" in x for x in f)))
        terminal.type(b"?")
        frame = terminal.settled(lambda f: any("q quits" in x for x in f))
        self.assertTrue(frame)
        text = "\n".join(frame)
        for word in "Keys:", "Columns:", "Colours:", "DATA/S", "space":
            self.assertIn(word, text)
        self.assertNotIn("some-port", text)
        self.assertNotIn("--node", text)
        terminal.type(b"x")  # returns to the tables
        self.assertTrue(terminal.settled(
            lambda f: any("some-port" in x for x in f)))
        terminal.type(b"?")
        self.assertTrue(terminal.settled(
            lambda f: any("q quits" in x for x in f)))
        terminal.type(b"q")
        self.assertEqual(terminal.process.wait(test_cli.TIMEOUT), 0)
        self.assertTrue(terminal.restored())

    def test_help_fits(self):
        self.receive(name="some-port")
        terminal = self.terminal(columns=40, rows=8)
        self.assertTrue(terminal.shows(b"VPID"))
        terminal.type(b"?")
        frame = terminal.settled(lambda f: any("q quits" in x for x in f))
        self.assertLessEqual(len(frame), 8)
        self.assertLessEqual(max(len(x) for x in frame), 40)
        terminal.type(b"xq")
        self.assertEqual(terminal.process.wait(test_cli.TIMEOUT), 0)

    def test_full_port_is_yellow(self):
        self.fill()
        terminal = self.terminal()
        self.assertTrue(terminal.shows(YELLOW))
        self.assertIn(YELLOW, self.styled(terminal.output, b"full-port"))
        self.environment["NO_COLOR"] = "1"
        terminal = self.terminal("-n", "2")
        self.assertEqual(terminal.process.wait(test_cli.TIMEOUT), 0)
        terminal.read()
        self.assertIn(b"full-port", terminal.output)
        self.assertNotIn(YELLOW, terminal.output)

    def test_stuck_thread_is_red(self):
        self.serve("served")
        process = self.traffic("send", "served", "0", "claim")
        self.assertTrue(until(lambda: any(
            t["doing"] != "idle" for t in self.status()["threads"])))
        terminal = self.terminal()
        terminal.type(b"t")
        self.assertTrue(terminal.shows(RED))
        self.assertIn(RED, self.styled(
            terminal.output, str(process.pid).encode()))

    def test_color_option(self):
        self.fill()
        for when, coloured in ("auto", False), ("always", True), \
                ("never", False):
            with self.subTest(when):
                result = self.run_cay("top", "--color", when, "-n", "1",
                                      "-d", "0.05")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(YELLOW in result.stdout, coloured)
                self.assertEqual(b"\033" in result.stdout, coloured)
        terminal = self.terminal("--color", "never", "-n", "2")
        self.assertEqual(terminal.process.wait(test_cli.TIMEOUT), 0)
        terminal.read()
        self.assertNotIn(YELLOW, terminal.output)
        result = self.run_cay("top", "--color", "sometimes")
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"auto, always or never", result.stderr)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    test_cli.CAY = os.path.abspath(sys.argv.pop(1))
    test_top.TRAFFIC = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
