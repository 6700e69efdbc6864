#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sessions: candidates of tools/bench answer its requests and end with it.

usage: test_session.py NATIVE BUILD [FABRIC] [TEST...]

NATIVE is bench-native, BUILD the folder with cay and libcay-fi.so, FABRIC
bench-fabric. Figures depend on the machine and its load: no test looks at their
size.
"""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest

NATIVE = BUILD = FABRIC = ""
SLEEP = 20  # seconds until it sleeps; a process that polls never does
TIMEOUT = 100  # seconds; an answer takes milliseconds on an idle machine


def children_of(pid):
    """Fields of /proc/PID/stat after the name, for each child."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return [pathlib.Path(f"/proc/{child}/stat").read_text()
            .rsplit(")", 1)[1].split()
            for child in children.read_text().split()]


def asleep(pid):
    return all(fields[0] == "S" for fields in children_of(pid))


def faults(pid):
    """Pages that the children have touched for the first time."""
    return sum(int(fields[7]) for fields in children_of(pid))


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
class SessionTest(unittest.TestCase):
    def start(self, program, peer, *more):
        """Starts a candidate and returns its version."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = f"{folder.name}/socket"
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(TIMEOUT)
        node = f"{self.id().rsplit('.', 1)[1]}-{os.getpid()}"
        environment = dict(os.environ, FI_PROVIDER_PATH=BUILD, CAY_NODE=node)
        environment.pop("FI_PROVIDER", None)
        self.process = subprocess.Popen(
            [program, peer, path, *more], env=environment,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.process.kill)
        connection, _ = listener.accept()
        connection.settimeout(TIMEOUT)
        self.stream = connection.makefile("rw")
        connection.close()
        return self.reply()

    def reply(self):
        return self.stream.readline().strip()

    def ask(self, request):
        self.stream.write(request + "\n")
        self.stream.flush()
        return self.reply()

    def measure(self, kind, size, handover=True, ports=0, rounds=2):
        self.assertEqual(self.ask(f"case {kind} {size} {ports}"), "ready")
        for _ in range(rounds):
            word, *figures = self.ask("round").split()
            self.assertEqual(word, "figure")
            ns, before, after, _ = map(float, figures)
            self.assertGreater(ns, 0)
            self.assertEqual(before > 0 and after > 0, handover)
        self.assertEqual(self.ask("done"), "closed")

    def end(self, status=0):
        """The processes end with the connection."""
        self.stream.close()
        errors = self.process.communicate(timeout=TIMEOUT)[1]
        self.assertEqual(self.process.returncode, status, errors)
        return errors


class Native(SessionTest):
    SIZES = [1, 8, 40, 64, 300, 4096, 65536, 1 << 20]

    def check(self, peer, cases, none=()):
        self.start(NATIVE, peer)
        for kind, size in cases:
            self.measure(kind, size)
        for kind, size in none:
            self.assertEqual(self.ask(f"case {kind} {size} 0"), "none")
        self.end()

    def test_messages(self):
        """Of any length; one case follows another in the same processes."""
        for peer in "cay", "sketch", "ring", "pipe", "socket":
            with self.subTest(peer=peer):
                self.check(peer, [("latency", size) for size in self.SIZES]
                           + [("rate", 8), ("latency", 8)],
                           [("nonsense", 8)])

    def test_burst(self):
        self.check("burst", [("rate", 8), ("rate", 40)], [("latency", 8)])

    def test_borrowed(self):
        for peer in "borrow", "fetch", "alloc":
            with self.subTest(peer=peer):
                self.check(peer, [("latency", 65536), ("latency", 4 << 20)],
                           [("latency", 8), ("rate", 8)])

    def test_ultra(self):
        self.check("ultra", [("latency", size) for size in
                             (1, 48, 49, 4080)] + [("rate", 8)],
                   [("latency", 4081), ("get", 8)])
        self.check("line", [("latency", 1), ("latency", 48), ("rate", 8)],
                   [("latency", 49)])

    def test_remote_memory(self):
        for peer in "cay", "sketch":
            with self.subTest(peer=peer):
                self.check(peer, [(kind, 8) for kind in (
                    "put_seen", "put_flush", "get", "fetch_add")])

    def test_ring(self):
        """More processes than cores: L is not measured among them."""
        for peer in "cay", "sketch", "pipe", "socket":
            with self.subTest(peer=peer):
                self.start(NATIVE, peer, "5")
                self.measure("ring", 8, handover=False)
                self.end()

    def test_warm(self):
        """All pages that messages cycle through are there before a round."""
        for peer in "cay", "sketch", "ring":
            with self.subTest(peer=peer):
                self.start(NATIVE, peer)
                self.assertEqual(self.ask("case latency 4096 0"), "ready")
                self.assertIn("figure", self.ask("round"))
                before = faults(self.process.pid)
                for _ in range(3):
                    self.assertIn("figure", self.ask("round"))
                self.assertLess(faults(self.process.pid) - before, 16)
                self.assertEqual(self.ask("done"), "closed")
                self.end()

    def test_ports(self):
        self.assertIn("Cay ", self.start(NATIVE, "cay"))
        self.measure("latency", 8, ports=31)
        self.measure("put_flush", 8, ports=30)
        self.end()

    def test_end_within_a_case(self):
        self.start(NATIVE, "cay")
        self.assertEqual(self.ask("case latency 8 0"), "ready")
        self.assertIn("figure", self.ask("round"))
        self.end()

    def test_rank_killed(self):
        self.start(NATIVE, "ring")
        self.assertEqual(self.ask("case latency 8 0"), "ready")
        children = pathlib.Path(
            f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        ).read_text().split()
        os.kill(int(children[1]), 9)
        self.assertRegex(self.ask("round"), "^(failed .*signal 9.*|)$")
        self.assertIn("signal 9", self.end(1))

    def test_too_long(self):
        self.start(NATIVE, "cay")
        self.assertEqual(self.ask(f"case latency {(4 << 20) + 1} 0"), "")
        self.end()


class Fabric(SessionTest):
    def setUp(self):
        if not FABRIC:
            self.skipTest("needs libfabric")

    def test_sleeps_between_rounds(self):
        """So that candidates do not disturb each other."""
        self.start(FABRIC, "shm")
        self.assertEqual(self.ask("case latency 8 0"), "ready")
        for _ in range(2):
            self.assertIn("figure", self.ask("round"))
            deadline = time.monotonic() + SLEEP
            while not asleep(self.process.pid):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
        self.assertEqual(self.ask("done"), "closed")
        self.end()

    def test_providers(self):
        for provider in "cay", "shm":
            with self.subTest(provider=provider):
                self.assertIn("libfabric", self.start(FABRIC, provider))
                for size in 1, 8, 4096, 65536, 1 << 20:
                    self.measure("latency", size)
                for kind in ("rate", "put_seen", "put_flush", "get",
                             "fetch_add"):
                    self.measure(kind, 8)
                self.assertEqual(self.ask("case ring 8 0"), "none")
                self.end()


class Usage(unittest.TestCase):
    def test_wrong(self):
        for arguments in [], ["cay"], ["nobody", "x"], ["cay", "x", "1"], \
                ["cay", "x", "65"], ["cay", "x", "2", "y"]:
            with self.subTest(arguments=arguments):
                run = subprocess.run([NATIVE, *arguments], text=True,
                                     capture_output=True, timeout=TIMEOUT)
                self.assertEqual(run.returncode, 2)
                self.assertIn("usage: ", run.stderr)

    def test_nobody_listens(self):
        run = subprocess.run([NATIVE, "ring", "/nowhere/socket"], text=True,
                             capture_output=True, timeout=TIMEOUT)
        self.assertEqual(run.returncode, 1)
        self.assertIn("/nowhere/socket", run.stderr)


if __name__ == "__main__":
    NATIVE = sys.argv.pop(1)
    BUILD = str(pathlib.Path(sys.argv.pop(1)).resolve())
    if len(sys.argv) > 1 and sys.argv[1].endswith("bench-fabric"):
        FABRIC = sys.argv.pop(1)
    unittest.main(verbosity=2)
