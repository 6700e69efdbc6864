#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of cay top and of the node's status report.

usage: test_top.py CAY TRAFFIC [TEST...]
"""
import fcntl
import glob
import itertools
import json
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import test_cli
from test_cli import CliTest, TIMEOUT, processes_of, sockets_of, until

TRAFFIC = ""
ENTER, LEAVE = b"\033[?1049h", b"\033[?25h\033[?1049l"


class TopTest(CliTest):
    def setUp(self):
        super().setUp()
        self.node = f"top-{self.node}"
        self.environment["CAY_NODE"] = self.node
        self.environment["TERM"] = "xterm"

    def traffic(self, *arguments):
        process = subprocess.Popen(
            [TRAFFIC, *arguments], env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.started.append(process)
        return process

    def serve(self, name="served"):
        """A port with two windows and three posted receives."""
        process = self.traffic("serve", name)
        process.capability = process.stdout.readline().decode().strip()
        self.assertTrue(process.capability, "the server exited at once")
        return process

    def status(self):
        result = self.run_cay("node", "status", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def port_of(self, pid, status=None):
        ports = (status or self.status())["ports"]
        return next((p for p in ports if p["pid"] == pid), None)

    def thread_of(self, pid, status=None):
        threads = (status or self.status())["threads"]
        return next((t for t in threads if t["pid"] == pid), None)

    def top(self, *arguments):
        """The objects of cay top --json."""
        result = self.run_cay("top", "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def stopped(self, *arguments):
        """Traffic that stops itself at a step."""
        process = self.traffic(*arguments)
        self.assertTrue(until(
            lambda: process.poll() is not None or
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG |
                      os.WNOWAIT)))
        self.assertIsNone(process.poll(), process.poll() is not None and
                          process.stderr.read())
        return process


class Status(TopTest):
    def test_memory_of_a_port(self):
        server = self.serve()
        port = self.port_of(server.pid)
        self.assertEqual(port["windows"], 2)
        self.assertEqual(port["windows_locked"], 0)
        self.assertEqual(port["locked_by"], [])
        self.assertEqual(port["posted_mode"], "only")
        self.assertEqual(port["posted_available"], 3)
        self.assertEqual(port["references_used"], 0)
        self.assertFalse(port["disabled"])
        result = self.run_cay("node", "status")
        self.assertIn(b"3 only", result.stdout)

    def test_lock(self):
        server = self.serve()
        locker = self.traffic("lock", "served", server.capability)
        self.assertTrue(until(
            lambda: self.port_of(server.pid)["windows_locked"] == 1))
        status = self.status()
        vpid = self.port_of(locker.pid, status)["vpid"]
        self.assertEqual(self.port_of(server.pid, status)["locked_by"],
                         [vpid])
        self.assertIn(b"1 by %d" % vpid,
                      self.run_cay("node", "status").stdout)
        locker.kill()
        self.assertTrue(until(
            lambda: self.port_of(server.pid)["windows_locked"] == 0))

    def test_references(self):
        receiver = self.receive()
        os.kill(receiver.pid, signal.SIGSTOP)
        sender = self.traffic("long", "x", "0")
        self.assertTrue(until(
            lambda: (self.port_of(sender.pid) or {}).get("references_used")))
        port = self.port_of(sender.pid)
        self.assertEqual(port["references_used"], 1)
        # 64 for borrowed messages, 64 for copied ones.
        self.assertEqual(port["references_entries"], 128)
        self.assertEqual(port["paths"],
                         {"direct": 1, "guarded": 0, "link": 0})

    def test_peer_that_is_gone(self):
        server = self.serve()
        sender = self.traffic("lock", "served", server.capability)
        self.assertTrue(until(
            lambda: self.port_of(server.pid)["windows_locked"]))
        server.kill()
        self.assertTrue(until(
            lambda: self.port_of(sender.pid)["peers_gone"] == 1))
        self.assertEqual(self.port_of(sender.pid)["paths"]["direct"], 0)

    def test_heap_of_processes(self):
        """The processes' heap bytes add up to the heap in use."""
        server = self.serve()
        self.traffic("send", "served", "0")
        self.assertTrue(until(lambda: len(self.status()["threads"]) == 1))
        status = self.status()
        self.assertEqual(sum(p["heap_bytes"] for p in status["processes"]),
                         status["heap_used"])
        process = next(p for p in status["processes"]
                       if p["pid"] == server.pid)
        self.assertEqual(process["alloc_bytes"], 5 * 4096)

    def arena_bytes(self):
        """Memory of the arenas, from /proc instead of the node."""
        total = 0
        for pid in processes_of(self.node):
            for path in glob.glob(f"/proc/{pid}/fd/*"):
                try:
                    if "memfd:cay-realm" in os.readlink(path):
                        total += os.stat(path).st_blocks * 512
                except OSError:
                    continue
        return total

    def arena_settled(self):
        before = self.arena_bytes()
        time.sleep(0.3)
        return before == self.arena_bytes()

    def test_status_allocates_no_memory(self):
        """A status report does not allocate pages of the arena."""
        for i in range(3):
            self.start("recv", f"idle-{i}")
            self.send("--ack", f"idle-{i}", "are you there?")
        self.assertTrue(until(self.arena_settled))
        before = self.arena_bytes()
        self.assertGreater(before, 0)
        status = self.status()
        self.top("-n", "1", "-d", "0.05")
        self.assertEqual(self.arena_bytes(), before)
        self.assertEqual(status["memory_bytes"], before)
        self.assertEqual([p["windows"] for p in status["ports"]], [0, 0, 0])

    def descriptors_left(self, pid, count):
        """Limits an idle process to `count` more descriptors than it uses."""
        def listed():
            return {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}

        def at_rest():
            before = listed()
            time.sleep(0.2)
            return before == listed()
        self.assertTrue(until(at_rest))
        used = listed()
        free = (fd for fd in itertools.count() if fd not in used)
        limit = next(itertools.islice(free, count, None))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))

    def test_unknown_counts(self):
        """A node that cannot read a count reports it as unknown."""
        server = self.serve()
        # A connection uses two and the report two; a count needs a fifth.
        self.descriptors_left(self.status()["pid"], 4)
        port = self.port_of(server.pid)
        for key in "windows", "windows_locked", "posted_available":
            self.assertIsNone(port[key])
        result = self.run_cay("top", "-n", "1", "-d", "0.05")
        self.assertRegex(result.stdout.decode(), r"- +\? +\? +\? only")

    def test_threads(self):
        server = self.serve()
        sender = self.traffic("send", "served", "0")
        self.assertTrue(until(lambda: self.thread_of(sender.pid)))
        status = self.status()
        thread = self.thread_of(sender.pid, status)
        self.assertEqual(thread["tid"], sender.pid)
        self.assertIsNone(self.thread_of(server.pid, status))
        self.assertTrue(until(
            lambda: self.thread_of(sender.pid)["issued"] >
            thread["issued"]))
        self.assertEqual(self.thread_of(sender.pid)["vpid"],
                         self.port_of(sender.pid)["vpid"])


class Operations(TopTest):
    """Threads that stop during an operation, and are shown there."""

    def stop_and_sample(self, kind, step):
        server = self.serve()
        victim = self.stopped(kind, "served", server.capability, step)
        first, second = self.top("-n", "2", "-d", "0.1")
        thread = self.thread_of(victim.pid, second)
        port = self.port_of(server.pid, second)
        self.assertEqual(thread["target"], port["vpid"])
        self.assertEqual(thread["state"], "T")
        self.assertEqual(thread["step"], step)
        self.assertEqual(thread["issued_per_s"], 0)
        self.assertGreater(thread["stuck_s"],
                           self.thread_of(victim.pid, first)["stuck_s"])
        self.assertEqual(second["total"]["busy"], 1)
        text = self.run_cay("top", "-b", "-n", "1", "-d", "0.05").stdout
        status = self.run_cay("node", "status").stdout
        line, = [x for x in text.decode().splitlines() if " T " in x]
        self.assertIn(line.split(" s ", 1)[1].strip(), status.decode())
        return thread, port, line

    def test_claiming(self):
        thread, port, line = self.stop_and_sample("send", "record: try")
        self.assertEqual(thread["doing"], "claiming")
        self.assertIn(f"claiming an entry of port {port['vpid']} (served)",
                      line)

    def test_owning(self):
        thread, port, line = self.stop_and_sample("send", "record: own")
        self.assertEqual(thread["doing"], "owning")
        self.assertEqual(port["nq_used"], 1)
        self.assertIn(f"owning entry {thread['entry']} of port "
                      f"{port['vpid']} (served)", line)

    def test_accessing(self):
        thread, port, line = self.stop_and_sample("put", "window check")
        self.assertEqual(thread["doing"], "accessing")
        self.assertEqual(thread["window"], 1)
        self.assertIsNone(thread["entry"])
        self.assertIn(f"accessing window 1 of port {port['vpid']} (served)",
                      line)

    def test_filling(self):
        thread, port, line = self.stop_and_sample("post", "payload store")
        self.assertEqual(thread["doing"], "filling")
        self.assertIn(thread["posted"], range(port["posted_entries"]))
        self.assertIsNone(thread["window"])
        self.assertEqual(port["posted_available"], 2)
        self.assertIn(f"filling posted receive {thread['posted']} of port "
                      f"{port['vpid']} (served)", line)

    def test_owning_for_a_posted_receive(self):
        thread, _, line = self.stop_and_sample("post", "posted receive filled")
        self.assertEqual(thread["doing"], "owning")
        self.assertIn(f", for posted receive {thread['posted']}", line)

    def test_killed(self):
        """The entry that a killed thread had claimed is void."""
        self.stop_and_sample("send", "record: own")
        self.started[-1].kill()
        self.assertTrue(until(lambda: self.status()["voided"] == 1))
        sample, = self.top("-n", "1", "-d", "0.05")
        self.assertEqual(sample["repaired"], 1)
        # One barrier for all ports of the process.
        self.assertEqual(self.status()["barriers"], 1)
        self.assertEqual(sample["threads"], [])

    def test_any_program(self):
        """A program without steps, stopped again and again."""
        self.receive(collect=True)
        source = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
        self.started.append(source)
        sender = self.start("send", "--lines", "x", stdin=source.stdout)
        self.assertTrue(until(lambda: self.thread_of(sender.pid)))
        for _ in range(500):
            os.kill(sender.pid, signal.SIGSTOP)
            if self.thread_of(sender.pid)["doing"] != "idle":
                break
            os.kill(sender.pid, signal.SIGCONT)
            time.sleep(0.001)
        else:
            self.skipTest("never stopped during an operation")
        sample, = self.top("-n", "1", "-d", "0.05")
        thread = self.thread_of(sender.pid, sample)
        self.assertIn(thread["doing"], ["claiming", "owning"])
        self.assertEqual(thread["program"], "cay")
        self.assertEqual(thread["state"], "T")
        self.assertIsNone(thread["step"])


class Samples(TopTest):
    def test_json(self):
        """The members of cay node status, and rates."""
        server = self.serve()
        for kind in "send", "put":
            self.traffic(kind, "served", server.capability)
        self.assertTrue(until(
            lambda: [t["issued"] > 100 for t in self.status()["threads"]] ==
            [True, True]))
        status = self.status()
        samples = self.top("-n", "3", "-d", "0.2")
        self.assertEqual(len(samples), 3)
        self.assertLess(samples[0]["time"], samples[2]["time"])
        for sample in samples:
            self.assertGreaterEqual(set(sample), set(status))
            for key in "processes", "ports", "threads":
                self.assertEqual(len(sample[key]), len(status[key]))
                self.assertGreaterEqual(set(sample[key][0]),
                                        set(status[key][0]))
            self.assertGreater(sample["elapsed_s"], 0.15)
            self.check_rates(sample, server.pid)

    def check_rates(self, sample, pid):
        port = self.port_of(pid, sample)
        others = [p for p in sample["ports"] if p["pid"] != pid]
        self.assertEqual(port["program"], "traffic")
        self.assertGreater(port["received_per_s"], 0)
        self.assertGreater(port["returned_per_s"], 0)
        self.assertEqual([p["received_per_s"] for p in others], [0, 0])
        self.assertEqual(len(sample["threads"]), 2)
        for thread in sample["threads"]:
            self.assertGreater(thread["issued_per_s"], 0)
        total = sample["total"]
        self.assertAlmostEqual(total["received_per_s"],
                               port["received_per_s"], places=2)
        self.assertAlmostEqual(
            total["issued_per_s"],
            sum(t["issued_per_s"] for t in sample["threads"]), places=2)

    def test_rates(self):
        """The rate is the difference of W between two samples."""
        receiver = self.receive(collect=True)
        top = self.start("top", "--json", "-n", "1", "-d", "2")
        time.sleep(0.5)
        self.send("--lines", "--ack", "x", data=b"a\n" * 1000)
        sample = json.loads(self.finish(top))
        port = self.port_of(receiver.pid, sample)
        moved = port["received_per_s"] * sample["elapsed_s"]
        # The messages, and GONE if the receiver had resolved the sender.
        self.assertIn(round(moved), (1000, 1001))

    def test_batch(self):
        server = self.serve("a-port-with-a-name-of-some-length")
        self.traffic("send", "a-port-with-a-name-of-some-length", "0")
        self.assertTrue(until(lambda: self.status()["threads"]))
        for options in ["-b"], []:
            result = self.run_cay("top", *options, "-n", "2", "-d", "0.1")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn(b"\033", result.stdout)
            text = result.stdout.decode()
            self.assertEqual(text.count(f"node {self.node}, pid "), 2)
            self.assertEqual(text.count("VPID  NAME"), 2)
            self.assertEqual(text.count("OPERATION IN PROGRESS"), 2)
            for line in text.splitlines():
                if "a-port-with-a-name-of-some-length" in line and \
                        line.split()[2] == str(server.pid):
                    break
            else:
                self.fail(text)
            self.assertIn("traffic", line)
            self.assertIn("3 only", line)

    def test_no_node(self):
        for options in [], ["-b"], ["--json"], ["--node", self.node]:
            result = self.run_cay("top", "-n", "1", *options)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, b"")
            self.assertIn(f"no node named '{self.node}' is running".encode(),
                          result.stderr)
            self.assertIn(b"cay node list", result.stderr)
        self.assertEqual(sockets_of(self.node), [], "top started a node")

    def test_node_option(self):
        self.receive()
        self.environment["CAY_NODE"] = "never-used"
        sample, = self.top("-n", "1", "-d", "0.05", "--node", self.node)
        self.assertEqual(sample["name"], self.node)
        self.environment["CAY_NODE"] = self.node

    def test_node_ends(self):
        """Samples do not keep an unused node running."""
        receiver = self.receive()
        top = self.start("top", "-b", "-d", "0.05",
                         stdout=subprocess.DEVNULL)
        time.sleep(0.3)
        receiver.kill()
        self.assertEqual(top.wait(TIMEOUT), 1)
        self.assertIn(b"has exited", top.stderr.read())

    def test_closed_pipe(self):
        """As in: cay top | head -1"""
        self.receive()
        top = self.start("top", "-d", "0.05")
        self.assertIn(self.node.encode(), top.stdout.readline())
        top.stdout.close()
        self.assertEqual(top.wait(TIMEOUT), 0)
        self.assertEqual(top.stderr.read(), b"")

    def test_full_disk(self):
        self.receive()
        with open("/dev/full", "wb") as full:
            top = self.start("top", "-d", "0.05", stdout=full)
            self.assertEqual(top.wait(TIMEOUT), 1)
        self.assertIn(b"standard output: No space", top.stderr.read())


class Terminal:
    """A terminal with a session in which a program runs."""

    def __init__(self, test, *arguments, columns=100, rows=24):
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.output = b""
        self.process = subprocess.Popen(
            arguments, env=test.environment, stdin=self.slave,
            stdout=self.slave, stderr=self.slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        test.started.append(self.process)
        test.addCleanup(self.close)

    def close(self):
        os.close(self.master)
        os.close(self.slave)

    def resize(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            self.output += os.read(self.master, 65536)

    def shows(self, text, after=0):
        """Waits for this output."""
        def there():
            self.read()
            return text in self.output[after:]
        return until(there)

    def frame(self, action=lambda: None):
        """Returns the lines of the next frame after the action, or none."""
        self.read()
        at = len(self.output)
        action()
        picture = re.compile(rb"\033\[H((?:(?!\033\[H).)+?)\033\[J", re.S)

        def found():
            self.read()
            return picture.search(self.output, at)
        if not until(found):
            return []
        return re.sub(rb"\033\[[0-9;?]*[a-zA-Z]", b"",
                      found()[1]).decode().split("\r\n")

    def settled(self, condition):
        """Waits for a frame with this property. Returns it, or None."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            frame = self.frame()
            if condition(frame):
                return frame
        return None

    def type(self, text):
        os.write(self.master, text)

    def restored(self):
        """Whether the terminal is restored at the end of the output."""
        self.read()
        return self.output.count(ENTER) >= 1 and \
            self.output.rstrip(b"\r\n").endswith(LEAVE) and \
            termios.tcgetattr(self.slave) == self.before

    def raw(self):
        flags = termios.tcgetattr(self.slave)[3]
        return not flags & termios.ICANON and not flags & termios.ECHO


class Screen(TopTest):
    def terminal(self, *arguments, **options):
        return Terminal(self, test_cli.CAY, "top", "-d", "0.1", *arguments,
                        **options)

    def finished(self, terminal, status=0):
        self.assertEqual(terminal.process.wait(TIMEOUT), status)
        self.assertTrue(terminal.restored(), terminal.output[-200:])

    def test_quit(self):
        self.receive(name="some-port")
        terminal = self.terminal()
        self.assertTrue(terminal.shows(b"some-port"))
        self.assertTrue(terminal.raw())
        terminal.type(b"q")
        self.finished(terminal)

    def test_count(self):
        self.receive()
        terminal = self.terminal("-n", "2")
        self.finished(terminal)

    def test_keys(self):
        self.serve("some-port")
        self.traffic("send", "some-port", "0")
        terminal = self.terminal()
        ports = terminal.settled(lambda f: any("VPID  NAME" in x for x in f))
        self.assertTrue(ports)
        self.assertFalse(any("OPERATION" in x for x in ports))
        self.assertTrue(any("sort (rate)" in x for x in ports))
        terminal.type(b"s")
        self.assertTrue(terminal.settled(
            lambda f: any("sort (queue)" in x for x in f)))
        terminal.type(b"t")
        threads = terminal.settled(
            lambda f: any("OPERATION" in x for x in f))
        self.assertTrue(threads)
        self.assertFalse(any("VPID  NAME" in x for x in threads))
        terminal.type(b"p")
        self.assertTrue(terminal.settled(
            lambda f: any("VPID  NAME" in x for x in f)))
        terminal.type(b"q")
        self.finished(terminal)

    def test_sample_now(self):
        """Space does not wait for the delay."""
        self.receive()
        terminal = Terminal(self, test_cli.CAY, "top", "-d", "1000")
        self.assertTrue(terminal.shows(b"/s received"))
        # The second sample is taken early; the next one is requested.
        self.assertTrue(terminal.settled(lambda f: "total: 0/s" in f[2]))
        self.assertTrue(terminal.frame(lambda: terminal.type(b" ")))
        terminal.type(b"q")
        self.finished(terminal)

    def test_size(self):
        """Lines and rows fit the screen."""
        for i in range(5):
            self.receive(name=f"port-{i}")
        terminal = self.terminal(columns=60, rows=9)
        frame = terminal.settled(lambda f: len(f) > 5)
        self.assertEqual(len(frame), 9)
        self.assertLessEqual(max(len(x) for x in frame), 60)
        self.assertIn("... and 3 more", frame[-1])
        terminal.resize(140, 30)
        os.kill(terminal.process.pid, signal.SIGWINCH)
        frame = terminal.settled(lambda f: len(f) > 9)
        self.assertEqual(sum("port-" in x for x in frame), 5)
        self.assertTrue(any("POSTED REFS" in x for x in frame))
        terminal.resize(1, 1)
        os.kill(terminal.process.pid, signal.SIGWINCH)
        self.assertTrue(terminal.settled(lambda f: f == ["n"]))
        terminal.type(b"q")
        self.finished(terminal)

    def test_signals(self):
        self.receive()
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with self.subTest(number):
                terminal = self.terminal()
                self.assertTrue(terminal.shows(b"VPID"))
                if number == signal.SIGINT:
                    terminal.type(b"\3")
                else:
                    terminal.process.send_signal(number)
                self.finished(terminal, -number)

    def test_stop_and_continue(self):
        """As with ^Z and fg in a shell."""
        self.receive()
        script = ('set -m; "$@"; echo; stty -a; echo; echo sto""pped;'
                  ' read line; fg > /dev/null; echo en""ded')
        terminal = Terminal(self, "sh", "-c", script, "sh", test_cli.CAY,
                            "top", "-d", "0.1")
        self.assertTrue(terminal.shows(b"VPID"))
        self.assertTrue(terminal.raw())
        terminal.type(b"\x1a")
        self.assertTrue(terminal.shows(b"stopped"), terminal.output)
        self.assertFalse(terminal.raw())
        self.assertIn(LEAVE, terminal.output)
        at = len(terminal.output)
        terminal.type(b"\n")
        self.assertTrue(terminal.shows(ENTER, at))
        self.assertTrue(terminal.shows(b"VPID", at))
        self.assertTrue(terminal.raw())
        terminal.type(b"q")
        self.assertTrue(terminal.shows(b"ended", at), terminal.output)
        self.assertEqual(terminal.process.wait(TIMEOUT), 0)
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.before)

    def test_stop_without_a_shell(self):
        """An orphaned process group cannot stop."""
        self.receive()
        terminal = self.terminal()
        self.assertTrue(terminal.shows(b"VPID"))
        terminal.type(b"\x1a")
        self.assertTrue(terminal.shows(ENTER, terminal.output.find(ENTER) + 1))
        self.assertTrue(terminal.frame())
        self.assertTrue(terminal.raw())
        terminal.type(b"q")
        self.finished(terminal)

    def test_terminal_is_gone(self):
        self.receive()
        terminal = self.terminal()
        self.assertTrue(terminal.shows(b"VPID"))
        os.close(terminal.slave)
        os.close(terminal.master)
        terminal.master, terminal.slave = pty.openpty()
        self.assertIn(terminal.process.wait(TIMEOUT), (0, 1, -signal.SIGHUP))

    def test_node_exits_and_restarts(self):
        receiver = self.receive()
        terminal = self.terminal()
        self.assertTrue(terminal.shows(b"VPID"))
        receiver.kill()
        self.assertTrue(terminal.shows(b"no such node is running; waiting"))
        self.receive(name="again")
        self.assertTrue(terminal.shows(b"again"))
        terminal.type(b"q")
        self.finished(terminal)

    def test_no_node(self):
        terminal = self.terminal()
        self.assertEqual(terminal.process.wait(TIMEOUT), 1)
        terminal.read()
        self.assertIn(b"no node named", terminal.output)
        self.assertNotIn(b"\033", terminal.output)

    def test_dumb_terminal(self):
        self.receive()
        for kind in "dumb", "":
            self.environment["TERM"] = kind
            terminal = self.terminal("-n", "1")
            self.assertEqual(terminal.process.wait(TIMEOUT), 0)
            terminal.read()
            self.assertIn(b"VPID", terminal.output)
            self.assertNotIn(b"\033", terminal.output)

    def test_program_names_are_harmless(self):
        """A program may have any name."""
        with tempfile.TemporaryDirectory() as directory:
            name = os.path.join(directory.encode(), b"\033[2J\xff x")
            os.symlink(TRAFFIC, name)
            process = subprocess.Popen(
                [name, "serve", "served"], env=self.environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            self.started.append(process)
            self.assertTrue(process.stdout.readline())
        result = self.run_cay("top", "-n", "1", "-d", "0.05")
        self.assertNotIn(b"\033", result.stdout)
        self.assertIn(b"?[2J?_x", result.stdout)


def main():
    global TRAFFIC
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    test_cli.CAY = os.path.abspath(sys.argv.pop(1))
    TRAFFIC = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
