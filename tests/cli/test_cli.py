#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the command line: processes, pipes, exit statuses.

usage: test_cli.py CAY [TEST...]

Each test has a node of its own, so that concurrent runs do not interfere. At
its end no process and no socket of that node may be left.
"""
import base64
import glob
import hashlib
import itertools
import json
import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

CAY = ""
TIMEOUT = 60  # seconds; a step takes milliseconds on an idle machine
COUNTER = itertools.count()


def until(condition, seconds=TIMEOUT):
    """Waits for a condition. Returns whether it became true."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def processes_of(node):
    """Processes whose environment or command line names the node."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        pid = int(path.rsplit("/", 1)[1])
        if pid == os.getpid():
            continue
        try:
            with open(path + "/environ", "rb") as f:
                environment = f.read().split(b"\0")
            with open(path + "/cmdline", "rb") as f:
                arguments = f.read().split(b"\0")
        except OSError:
            continue
        if b"CAY_NODE=" + node.encode() in environment or \
                node.encode() in arguments:
            found.append(pid)
    return found


def sockets_of(node):
    suffix = f"@cay/{os.geteuid()}/{node}"
    with open("/proc/net/unix") as f:
        return [line for line in f if line.rstrip("\n").endswith(suffix)]


class CliTest(unittest.TestCase):
    def setUp(self):
        self.node = f"cli-{os.getpid()}-{next(COUNTER)}"
        self.started = []
        self.environment = dict(os.environ, CAY_NODE=self.node)
        self.environment.pop("CAY_REALM", None)

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in process.stdin, process.stdout, process.stderr:
                if pipe:
                    pipe.close()
        self.assertTrue(
            until(lambda: not processes_of(self.node)),
            f"processes left: {processes_of(self.node)}")
        self.assertTrue(
            until(lambda: not sockets_of(self.node)),
            f"sockets left: {sockets_of(self.node)}")

    def run_cay(self, *arguments, data=None, **options):
        """Runs cay until it exits. Returns a CompletedProcess with bytes."""
        if data is None:
            options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            [CAY, *arguments], input=data, capture_output=True,
            env=self.environment, timeout=TIMEOUT, **options)

    def collect(self, process):
        """Reads the output while the process runs."""
        def read():
            process.collected = process.stdout.read()

        process.collector = threading.Thread(target=read, daemon=True)
        process.collector.start()

    def start(self, *arguments, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen(
            [CAY, *arguments], env=self.environment, **options)
        self.started.append(process)
        return process

    def ports(self):
        status = self.run_cay("node", "status", "--json")
        if status.returncode != 0:
            return []
        return json.loads(status.stdout)["ports"]

    def receive(self, *arguments, name="x", collect=False, **options):
        """Starts a receiver and waits until its port is open."""
        process = self.start("recv", *arguments, name, **options)
        self.assertTrue(until(
            lambda: process.poll() is not None or
            any(p["name"] == name for p in self.ports())))
        self.assertIsNone(process.poll(), "the receiver ended at once")
        if collect:
            self.collect(process)
        return process

    def finish(self, process, status=0):
        """Waits for this exit status. Returns the output."""
        if hasattr(process, "collector"):
            process.collector.join(TIMEOUT)
            process.wait(TIMEOUT)
            out, err = process.collected, process.stderr.read()
        else:
            out, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, status, err)
        return out

    def send(self, *arguments, status=0, **options):
        result = self.run_cay("send", *arguments, **options)
        self.assertEqual(result.returncode, status, result.stderr)
        return result


class Messages(CliTest):
    def test_one(self):
        receiver = self.receive("--count", "1")
        self.send("x", "hello")
        self.assertEqual(self.finish(receiver), b"hello\n")

    def test_standard_input_is_one_message(self):
        receiver = self.receive("--count", "1", "--raw")
        self.send("x", data=b"two\nlines\n")
        self.assertEqual(self.finish(receiver), b"two\nlines\n")

    def test_newline_is_not_doubled(self):
        receiver = self.receive("--count", "2")
        self.send("x", data=b"first\n")
        self.send("x", data=b"second")
        self.assertEqual(self.finish(receiver), b"first\nsecond\n")

    def test_empty(self):
        receiver = self.receive("--count", "2")
        self.send("x", "")
        self.send("x", data=b"")
        self.assertEqual(self.finish(receiver), b"\n\n")

    def test_lines(self):
        lines = [b"%d %s" % (i, b"x" * (i % 100)) for i in range(3000)]
        lines[100] = b""
        lines[200] = b"long" * 10000
        lines[201] = b"\0binary\0"
        receiver = self.receive("--count", str(len(lines)), collect=True)
        self.send("--lines", "x", data=b"\n".join(lines))
        self.assertEqual(self.finish(receiver), b"\n".join(lines) + b"\n")

    def test_lines_with_ack(self):
        lines = [b"%d" % i for i in range(2000)]
        receiver = self.receive("--count", str(len(lines)), collect=True)
        self.send("--lines", "--ack", "x", data=b"\n".join(lines))
        self.assertEqual(self.finish(receiver).split(), lines)

    def test_no_lines(self):
        receiver = self.receive("--count", "1")
        self.send("--lines", "x", data=b"")
        self.send("x", "end")
        self.assertEqual(self.finish(receiver), b"end\n")

    def test_sizes(self):
        """Sizes on both sides of each protocol threshold."""
        sizes = [0, 1, 7, 8, 39, 40, 41, 64, 8191, 8192, 8193, 70000]
        receiver = self.receive("--count", str(len(sizes)), "--raw",
                                collect=True)
        expected = b""
        for size in sizes:
            data = random.Random(size).randbytes(size)
            self.send("--ack", "x", data=data)
            expected += data
        self.assertEqual(self.finish(receiver), expected)

    def test_binary(self):
        data = random.Random(5).randbytes(5_000_000)
        receiver = self.receive("--count", "1", "--raw", collect=True)
        self.send("x", data=data)
        received = self.finish(receiver)
        self.assertEqual(hashlib.sha256(received).hexdigest(),
                         hashlib.sha256(data).hexdigest())

    def test_many_senders(self):
        receiver = self.receive("--count", "400")
        senders = []
        for i in range(4):
            lines = b"\n".join(b"%d %d" % (i, j) for j in range(100))
            sender = self.start("send", "--lines", "x",
                                stdin=subprocess.PIPE)
            sender.stdin.write(lines)
            sender.stdin.close()
            senders.append(sender)
        seen = self.finish(receiver).split(b"\n")[:-1]
        for i, sender in enumerate(senders):
            self.assertEqual(sender.wait(TIMEOUT), 0)
            mine = [s for s in seen if s.startswith(b"%d " % i)]
            self.assertEqual(mine, [b"%d %d" % (i, j) for j in range(100)])

    def test_sender_starts_first(self):
        sender = self.start("send", "--wait", str(TIMEOUT), "x", "early")
        receiver = self.start("recv", "--count", "1", "x")
        self.assertEqual(self.finish(receiver), b"early\n")
        self.finish(sender)

    def test_realms_are_separate(self):
        receiver = self.receive("--count", "1", "--realm", "other")
        self.send("--wait", "0", "x", "lost", status=1)
        self.send("--realm", "other", "x", "found")
        self.assertEqual(self.finish(receiver), b"found\n")

    def test_node_option(self):
        receiver = self.receive("--count", "1")
        environment = self.environment
        self.environment = dict(environment, CAY_NODE="never-used")
        self.send("--node", self.node, "x", "there")
        self.environment = environment
        self.assertEqual(self.finish(receiver), b"there\n")


class Json(CliTest):
    def objects(self, receiver):
        return [json.loads(line) for line in
                self.finish(receiver).decode().splitlines()]

    def test_fields(self):
        receiver = self.receive("--json", "--count", "1")
        self.send("--tag", "0xffffffffffffffff", "--api-tag", "7", "x",
                  'quotes " and \n lines, \u00e9')
        message, = self.objects(receiver)
        self.assertEqual(message["kind"], "message")
        self.assertEqual(message["tag"], 2**64 - 1)
        self.assertEqual(message["api_tag"], 7)
        self.assertEqual(message["encoding"], "utf-8")
        self.assertEqual(message["data"], 'quotes " and \n lines, \u00e9')
        self.assertEqual(message["length"], len(message["data"].encode()))
        self.assertGreater(message["from"]["vpid"], 0)

    def test_not_text(self):
        samples = [b"\xff", b"a\0b", b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82",
                   b"\xf5\x80\x80\x80", bytes(range(256)), b"\x80" * 100000]
        receiver = self.receive("--json", "--count", str(len(samples)),
                                collect=True)
        for sample in samples:
            self.send("x", data=sample)
        messages = [m for m in self.objects(receiver) if m["kind"] != "gone"]
        for message, sample in zip(messages, samples, strict=True):
            self.assertEqual(message["encoding"], "base64", sample[:10])
            self.assertEqual(base64.b64decode(message["data"]), sample)

    def test_text(self):
        samples = ["", "a", "\u00e9", "\u20ac", "\U0001f600", "\x01\x7f\t"]
        receiver = self.receive("--json", "--count", str(len(samples)),
                                collect=True)
        for sample in samples:
            self.send("x", data=sample.encode())
        messages = [m for m in self.objects(receiver) if m["kind"] != "gone"]
        self.assertEqual([m["data"] for m in messages], samples)

    def test_gone(self):
        """Each sender is reported gone once, after its last message."""
        receiver = self.receive("--json")
        for i in range(3):
            self.send("--lines", "x", data=b"a\nb\nc")
        seen = [json.loads(receiver.stdout.readline()) for _ in range(12)]
        receiver.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(receiver), b"")
        by_sender = {}
        for entry in seen:
            kinds = by_sender.setdefault(entry["from"]["vpid"], [])
            kinds.append(entry["kind"])
        self.assertEqual(list(by_sender.values()),
                         [["message"] * 3 + ["gone"]] * 3)

    def test_gone_after_kill(self):
        receiver = self.receive("--json")
        sender = self.start("send", "--lines", "x", stdin=subprocess.PIPE)
        sender.stdin.write(b"last words\n")
        sender.stdin.flush()
        message = json.loads(receiver.stdout.readline())
        sender.kill()
        gone = json.loads(receiver.stdout.readline())
        self.assertEqual(message["data"], "last words")
        self.assertEqual(gone["kind"], "gone")
        self.assertEqual(gone["from"], message["from"])


class Ends(CliTest):
    def test_timeout(self):
        result = self.run_cay("recv", "--timeout", "0.2", "x")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"timed out after 0 messages", result.stderr)

    def test_timeout_counts_from_the_last_message(self):
        # A busy machine may deliver the message too late: longer timeouts.
        for timeout in 1, 4, 16, 30:
            receiver = self.receive("--timeout", str(timeout))
            time.sleep(timeout / 2)
            sent = time.monotonic()
            self.run_cay("send", "x", "half time")
            out, err = receiver.communicate(timeout=2 * TIMEOUT)
            ended = time.monotonic()
            self.assertEqual(receiver.returncode, 1)
            if out:
                break
        self.assertEqual(out, b"half time\n")
        self.assertIn(b"timed out after 1 message", err)
        self.assertGreaterEqual(ended, sent + timeout)

    def test_timeout_with_count(self):
        receiver = self.receive("--timeout", "2", "--count", "5")
        self.send("x", "one")
        out, err = receiver.communicate(timeout=TIMEOUT)
        self.assertEqual((receiver.returncode, out), (1, b"one\n"))
        self.assertIn(b"1 of 5", err)

    def test_unknown_name(self):
        for wait in "0", "0.2":
            result = self.send("--wait", wait, "nobody", "x", status=1)
            self.assertIn(b"no port has the name 'nobody'", result.stderr)

    def test_name_in_use(self):
        self.receive()
        result = self.run_cay("recv", "x")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"another port has the name", result.stderr)

    def test_interrupted(self):
        for number in signal.SIGINT, signal.SIGTERM:
            receiver = self.receive()
            self.send("x", "before")
            self.assertEqual(receiver.stdout.readline(), b"before\n")
            receiver.send_signal(number)
            self.finish(receiver, 0)

    def test_interrupted_before_count(self):
        receiver = self.receive("--count", "2")
        receiver.send_signal(signal.SIGTERM)
        out, err = receiver.communicate(timeout=TIMEOUT)
        self.assertEqual(receiver.returncode, 1)
        self.assertIn(b"0 of 2", err)

    def test_interrupted_with_a_full_pipe(self):
        receiver = self.receive("--raw")
        sender = self.start("send", "x", stdin=subprocess.PIPE)
        sender.stdin.write(b"z" * 1_000_000)  # more than a pipe holds
        sender.stdin.close()
        time.sleep(0.2)
        receiver.send_signal(signal.SIGTERM)
        self.assertEqual(receiver.wait(TIMEOUT), 0)

    def test_stuck_receiver(self):
        """A full queue is an error after a timeout, not a hang."""
        receiver = self.receive()
        receiver.send_signal(signal.SIGSTOP)
        lines = b"\n".join(b"%d" % i for i in range(5000))
        result = self.send("--lines", "--wait", "0.2", "x", data=lines,
                           status=1)
        self.assertIn(b"its queue is full", result.stderr)
        accepted = int(re.search(rb"(\d+) messages were accepted before",
                                 result.stderr)[1])
        receiver.send_signal(signal.SIGCONT)
        for i in range(accepted):
            self.assertEqual(receiver.stdout.readline(), b"%d\n" % i)

    def test_receiver_killed_before_it_reads(self):
        """A long message is accepted as a short one is: it is stored."""
        receiver = self.receive()
        receiver.send_signal(signal.SIGSTOP)
        for options in ([], ["--ack"]):
            self.send(*options, "x", data=b"q" * 100_000)
        receiver.kill()
        receiver.wait(TIMEOUT)
        self.send("--wait", "0", "x", data=b"q" * 100_000, status=1)

    def test_borrowed_message_to_a_dying_receiver(self):
        """A borrowed message to a process that dies is an error at once."""
        receiver = self.receive()
        receiver.send_signal(signal.SIGSTOP)
        sender = self.start("send", "--borrow", "--wait", str(TIMEOUT), "x",
                            stdin=subprocess.PIPE)
        sender.stdin.write(b"q" * 100_000)
        sender.stdin.close()
        self.assertTrue(until(
            lambda: any(p["nq_used"] for p in self.ports())))
        receiver.kill()
        self.assertEqual(sender.wait(TIMEOUT), 1)
        self.assertIn(b"closed or died", sender.stderr.read())

    def test_borrowed_lines(self):
        receiver = self.receive("--count", "3")
        lines = [b"a" * 9000, b"b", b"c" * 10000]
        self.send("--borrow", "--lines", "x", data=b"\n".join(lines))
        self.assertEqual(self.finish(receiver),
                         b"".join(line + b"\n" for line in lines))

    def test_long_messages_outlive_their_senders(self):
        receiver = self.receive("--count", "3", "--raw", collect=True)
        receiver.send_signal(signal.SIGSTOP)
        for i in range(3):
            self.send("x", data=b"%d" % i * 20000)
        receiver.send_signal(signal.SIGCONT)
        self.assertEqual(self.finish(receiver),
                         b"".join(b"%d" % i * 20000 for i in range(3)))

    def test_count_leaves_the_messages_of_others(self):
        """Of two pending messages to a receiver that wants one, one fails.

        A second long message is read by the poll that finds it. Its sender is
        told that it arrived, so --count must not poll it.
        """
        receiver = self.receive("--count", "3")
        senders = []
        for i in range(2):
            sender = self.start("send", "--lines", "--borrow", "--wait",
                                str(TIMEOUT), "x", stdin=subprocess.PIPE)
            sender.line = b"%d" % i * 20000 + b"\n"
            sender.stdin.write(sender.line)
            sender.stdin.flush()
            self.assertEqual(receiver.stdout.readline(), sender.line)
            senders.append(sender)
        receiver.send_signal(signal.SIGSTOP)
        for sender in senders:
            sender.stdin.write(sender.line)
            sender.stdin.close()
        self.assertTrue(until(
            lambda: any(p["name"] == "x" and p["nq_used"] == 2
                        for p in self.ports())))
        receiver.send_signal(signal.SIGCONT)
        last = receiver.stdout.read()
        self.finish(receiver)
        for sender in senders:
            expected = 0 if last == sender.line else 1
            self.assertEqual(sender.wait(TIMEOUT), expected)

    def test_receiver_exits_early(self):
        receiver = self.receive("--count", "1")
        sender = self.start("send", "--lines", "x", stdin=subprocess.PIPE)
        sender.stdin.write(b"one\n")
        sender.stdin.flush()
        self.assertEqual(self.finish(receiver), b"one\n")
        sender.stdin.write(b"two\n")
        sender.stdin.close()
        self.assertEqual(sender.wait(TIMEOUT), 1)
        self.assertIn(b"its owner is gone; 1 message was accepted before",
                      sender.stderr.read())

    def test_closed_pipe(self):
        """As in: cay recv --count 1000 x | head -1"""
        read_end, write_end = os.pipe()
        receiver = self.receive("--count", "1000", stdout=write_end)
        os.close(write_end)
        head = subprocess.Popen(["head", "-1"], stdin=read_end,
                                stdout=subprocess.PIPE)
        os.close(read_end)
        self.send("x", "first")
        self.assertEqual(head.communicate(timeout=TIMEOUT)[0], b"first\n")
        self.assertEqual(receiver.wait(TIMEOUT), 0)
        self.assertEqual(receiver.stderr.read(), b"")

    def test_full_disk(self):
        with open("/dev/full", "wb") as full:
            receiver = self.receive("--count", "1", stdout=full)
            self.send("x", "into nothing")
            self.assertEqual(receiver.wait(TIMEOUT), 1)
        self.assertIn(b"standard output: No space", receiver.stderr.read())

    def test_node_dies(self):
        receiver = self.receive()
        status = json.loads(self.run_cay("node", "status", "--json").stdout)
        os.kill(status["pid"], signal.SIGKILL)
        self.assertEqual(receiver.wait(TIMEOUT), 1)
        self.assertIn(b"the node is gone", receiver.stderr.read())


class Usage(CliTest):
    COMMANDS = [
        ["--help"], ["help"], ["send", "--help"], ["recv", "--help"],
        ["demo", "--help"], ["bench", "--help"], ["explain", "--help"],
        ["doctor", "--help"], ["node", "--help"],
        ["node", "status", "--help"], ["node", "serve", "--help"],
        ["node", "fence", "--help"], ["node", "list", "--help"],
        ["top", "--help"], ["send", "-h"], ["trace", "-h"],
        ["completion", "--help"], ["help", "sim"],
        ["help", "trace", "record"]]

    WRONG = [
        [], ["nonsense"], ["send"], ["send", "a", "b", "c"],
        ["send", "--tag", "-1", "x", "y"], ["send", "--tag", "1z", "x", "y"],
        ["send", "--api-tag", "4294967296", "x", "y"],
        ["send", "--wait", "soon", "x", "y"], ["send", "--what", "x", "y"],
        ["send", "a/b", "y"], ["send", "--lines", "x", "y"],
        ["send", "--node", "", "x", "y"], ["recv"], ["recv", "a", "b"],
        ["recv", "--count", "0", "x"], ["recv", "--count"],
        ["recv", "--timeout", "nan", "x"], ["recv", "--json", "--raw", "x"],
        ["recv", "x" * 64], ["node"], ["node", "nonsense"],
        ["node", "status", "a", "b"], ["node", "status", "a/b"],
        ["node", "status", "--what"], ["node", "list", "a"],
        ["node", "fence"], ["node", "fence", "zero"],
        ["node", "fence", "0"], ["node", "serve", "--arena", "1K"],
        ["node", "serve", "--arena", "1X"], ["top", "default"],
        # More than 64 bits; the lower 64 are 1G.
        ["node", "serve", "--arena", "17592186044417G"],
        ["top", "--what"], ["top", "-x"], ["top", "-n"], ["top", "-n", "0"],
        ["top", "-n", "many"], ["top", "-n", "-1"], ["top", "-d", "0"],
        ["top", "-d", "-1"], ["top", "-d", "nan"], ["top", "-d", "soon"],
        ["top", "--node", "a/b"], ["top", "--node", ""], ["demo", "now"],
        ["demo", "--now"], ["completion"], ["completion", "tcsh"],
        ["help", "nonsense"]]

    def test_help(self):
        for arguments in self.COMMANDS:
            with self.subTest(arguments):
                result = self.run_cay(*arguments)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(b"cay", result.stdout)

    def test_help_fits_80_columns(self):
        for arguments in self.COMMANDS:
            with self.subTest(arguments):
                for line in self.run_cay(*arguments).stdout.splitlines():
                    self.assertLessEqual(len(line), 80, line)

    def test_usage_errors(self):
        for arguments in self.WRONG:
            with self.subTest(arguments):
                result = self.run_cay(*arguments)
                self.assertEqual(result.returncode, 2, result)
                self.assertEqual(result.stdout, b"")
                self.assertNotEqual(result.stderr, b"")

    def test_unknown_letter(self):
        """A wrong letter in a group is named, not the word before it."""
        result = self.run_cay("top", "--json", "-xb")
        self.assertIn(b"unknown option '-x'", result.stderr)

    def test_full_disk(self):
        for arguments in ["--version"], ["--help"], ["explain"], \
                ["explain", "--json"], ["doctor"], ["doctor", "--json"], \
                ["trace", "random"]:
            with self.subTest(arguments), open("/dev/full", "wb") as full:
                result = subprocess.run([CAY, *arguments], stdout=full,
                                        stderr=subprocess.PIPE,
                                        timeout=TIMEOUT)
                self.assertEqual(result.returncode, 1)
                self.assertIn(b"standard output: ", result.stderr)

    def test_doctor_tests_the_default_arena(self):
        findings = json.loads(
            self.run_cay("doctor", "--json").stdout)["findings"]
        arena, = [f for f in findings if f["name"] == "arena"]
        self.assertTrue(arena["finding"].startswith("32.0 GiB"), arena)

    def test_help_of_a_command(self):
        self.assertEqual(self.run_cay("help", "trace", "show").stdout,
                         self.run_cay("trace", "show", "--help").stdout)

    def complete(self, *words):
        script = self.run_cay("completion", "bash").stdout.decode()
        script += f"""
            COMP_WORDS=({shlex.join(words)})
            COMP_CWORD={len(words) - 1}
            compopt() {{ :; }}
            _cay
            printf '%s\\n' "${{COMPREPLY[@]}}" """
        result = subprocess.run(["bash", "-c", script], capture_output=True,
                                text=True, timeout=TIMEOUT)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout.split()

    def test_completion(self):
        self.assertEqual(self.complete("cay", "s"), ["send", "sim"])
        self.assertEqual(self.complete("cay", "node", "f"), ["fence"])
        self.assertEqual(self.complete("cay", "help", "node", "f"), ["fence"])
        self.assertEqual(self.complete("cay", "node", "serve", "--b"),
                         ["--background"])
        self.assertEqual(self.complete("cay", "sim", "t"), ["torus"])
        self.assertEqual(self.complete("cay", "sim", "torus", "--router", ""),
                         ["extoll", "atoll", "iq4"])
        self.assertEqual(self.complete("cay", "sim", "torus", "--csv", ""), [])
        self.assertEqual(self.complete("cay", "top", "--color", "a"),
                         ["auto", "always"])
        self.assertEqual(self.complete("cay", "trace", "t"), ["timeline"])
        self.assertEqual(self.complete("cay", "node", "list", ""),
                         ["--json", "--help"])


class Node(CliTest):
    def test_status_without_node(self):
        for options in [], ["--json"]:
            result = self.run_cay("node", "status", *options)
            self.assertEqual(result.returncode, 1)
            self.assertIn(b"no node named", result.stderr)
            self.assertIn(self.node.encode(), result.stderr)
        self.assertEqual(sockets_of(self.node), [], "status started a node")

    def test_status(self):
        receiver = self.receive(name="some-port")
        self.send("some-port", "hello")
        result = self.run_cay("node", "status")
        self.assertEqual(result.returncode, 0)
        for text in self.node, "some-port", str(receiver.pid):
            self.assertIn(text.encode(), result.stdout)
        # The size that the documents give for an arena.
        self.assertRegex(result.stdout.decode(),
                         r"(?m)^1 arena: \S+ KiB of 32\.0 GiB allocated, ")

    def test_status_json(self):
        receiver = self.receive(name="some-port")
        result = self.run_cay("node", "status", "--json", self.node)
        self.assertEqual(result.returncode, 0)
        status = json.loads(result.stdout)
        self.assertEqual(status["name"], self.node)
        self.assertGreater(status["uptime_ns"], 0)
        self.assertEqual(status["realms"], 1)
        self.assertLess(status["heap_used"], status["heap_bytes"])
        process, = status["processes"]
        self.assertEqual(process["pid"], receiver.pid)
        self.assertEqual(process["realm"], "default")
        port, = status["ports"]
        self.assertEqual(port["name"], "some-port")
        self.assertEqual(port["pid"], receiver.pid)
        self.assertEqual(port["nq_used"], 0)

    def test_quota(self):
        """A quota that is given to the node applies, and the status shows
        what counts for it."""
        node = self.start("node", "serve", "--quota", "process-ports=1",
                          "--quota", "realm-ports=2", self.node)
        self.assertTrue(until(lambda: sockets_of(self.node)))
        first = self.receive(name="a")
        self.receive(name="b")
        self.assertEqual(len(self.ports()), 2)
        result = self.run_cay("recv", "c")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"quota", result.stderr)
        status = json.loads(self.run_cay("node", "status", "--json").stdout)
        self.assertGreaterEqual(status["over_quota"], 1)
        for process in status["processes"]:
            self.assertEqual(process["ports"], 1)
            self.assertEqual(
                (process["peers"], process["mappings"],
                 process["ultra_paths"]), (0, 0, 0))
        text = self.run_cay("node", "status").stdout
        self.assertRegex(text, rb"(?m)^ *pid +ports .* peers +mapped ")
        # Another realm, and this one after a port is closed.
        self.receive("--realm", "other", name="c")
        first.kill()
        first.wait()
        self.assertTrue(until(lambda: len(self.ports()) == 2))
        self.receive(name="d")
        node.terminate()

    def test_quota_errors(self):
        for quota in "process-ports", "ports=1", "process-ports=0", \
                     "process-ports=x":
            result = self.run_cay("node", "serve", "--quota", quota)
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"--quota", result.stderr)

    def test_status_of_a_full_queue(self):
        receiver = self.receive()
        receiver.send_signal(signal.SIGSTOP)
        self.send("--lines", "x", data=b"a\nb\n" + b"c" * 1000)
        port, = self.ports()
        self.assertEqual(port["nq_used"], 3)
        self.assertEqual(port["rdr_used_bytes"], 1024)
        receiver.send_signal(signal.SIGCONT)

    def test_list(self):
        self.receive()
        result = self.run_cay("node", "list")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(
            result.stdout.decode().splitlines().count(self.node), 1)

    def test_list_json(self):
        self.receive(name="one")
        self.receive(name="two")
        result = self.run_cay("node", "list", "--json")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        nodes = json.loads(result.stdout)["nodes"]
        self.assertEqual([n["name"] for n in nodes],
                         sorted(n["name"] for n in nodes))
        node, = [n for n in nodes if n["name"] == self.node]
        status = json.loads(self.run_cay("node", "status", "--json").stdout)
        self.assertEqual(set(node), {"name", "pid", "uptime_ns", "processes",
                                     "ports", "error"})
        self.assertEqual(node["pid"], status["pid"])
        self.assertEqual((node["processes"], node["ports"]), (2, 2))
        self.assertGreater(node["uptime_ns"], 0)
        self.assertIsNone(node["error"])

    def test_list_json_without_an_answer(self):
        """Something else listens at the address of a node."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(f"\0cay/{os.geteuid()}/{self.node}")
            s.listen()

            def refuse():
                s.accept()[0].close()

            server = threading.Thread(target=refuse, daemon=True)
            server.start()
            result = self.run_cay("node", "list", "--json")
            server.join(TIMEOUT)
        self.assertEqual(result.returncode, 0)
        node, = [n for n in json.loads(result.stdout)["nodes"]
                 if n["name"] == self.node]
        self.assertIsNone(node["pid"])
        self.assertIn("exited", node["error"])

    def test_fence(self):
        receiver = self.receive()
        result = self.run_cay("node", "fence", str(receiver.pid))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"blocks no receiver", result.stdout)
        result = self.run_cay("node", "fence", "--json", str(receiver.pid))
        self.assertEqual(json.loads(result.stdout), {
            "pid": receiver.pid, "migrated": 0, "error": None})

    def busy(self, pid):
        status = json.loads(self.run_cay("node", "status", "--json").stdout)
        return any(p["pid"] == pid and p["busy"]
                   for p in status["processes"])

    def stop_during_send(self, pid):
        """Stops a sender while it sends a message."""
        for _ in range(1000):
            os.kill(pid, signal.SIGSTOP)
            if self.busy(pid):
                return
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.001)
        self.skipTest("never stopped during a message")

    def test_fence_a_stopped_sender(self):
        """Receivers continue and no message is lost."""
        receiver = self.receive(collect=True)
        source = subprocess.Popen(["seq", "1", "100000000"],
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        sender = self.start("send", "--lines", "x", stdin=source.stdout)
        source.stdout.close()
        self.assertTrue(until(lambda: len(self.ports()) == 2))
        try:
            self.stop_during_send(sender.pid)
            result = self.run_cay("node", "fence", str(sender.pid))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(b"fenced: 1 receiver continues", result.stdout)
            self.send("x", "from another")
            os.kill(sender.pid, signal.SIGCONT)
            time.sleep(0.1)
        finally:
            source.kill()
            source.wait()
        self.assertEqual(sender.wait(TIMEOUT), 0)
        receiver.send_signal(signal.SIGTERM)
        lines = self.finish(receiver).splitlines()
        self.assertEqual(lines.count(b"from another"), 1)
        lines.remove(b"from another")
        self.assertEqual(lines[:-1],
                         [b"%d" % (i + 1) for i in range(len(lines) - 1)])

    def test_fence_unknown_process(self):
        result = self.run_cay("node", "fence", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"no node named", result.stderr)
        self.receive()
        result = self.run_cay("node", "fence", str(os.getpid()))
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"no port on the node", result.stderr)
        result = self.run_cay("node", "fence", "--json", str(os.getpid()))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no port", json.loads(result.stdout)["error"])

    def test_serve(self):
        """In the foreground it runs without users until it is interrupted."""
        server = self.start("node", "serve", "--arena", "1G", self.node)
        self.assertTrue(until(lambda: sockets_of(self.node)))
        time.sleep(1)
        status = self.run_cay("node", "status", "--json")
        self.assertEqual(json.loads(status.stdout)["pid"], server.pid)
        again = self.run_cay("node", "serve", self.node)
        self.assertEqual(again.returncode, 1)
        self.assertIn(b"is running already", again.stderr)
        receiver = self.receive("--count", "1")
        self.send("x", "served")
        self.assertEqual(self.finish(receiver), b"served\n")
        server.terminate()
        server.wait(TIMEOUT)

    def test_serve_in_background(self):
        result = self.run_cay("node", "serve", "--background", self.node)
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.run_cay("node", "serve", "--background", self.node)
        self.assertEqual(result.returncode, 0, result.stderr)


class Demo(CliTest):
    def demo(self, *options):
        """Runs the demo. Returns its output; nothing of it may be left."""
        demo = self.start("demo", *options)
        out, err = demo.communicate(timeout=4 * TIMEOUT)
        self.assertEqual(demo.returncode, 0, out.decode() + err.decode())
        self.assertNotIn(b"\033", out)
        own = f"demo-{demo.pid}"
        self.assertEqual(sockets_of(own), [])
        self.assertEqual(processes_of(own), [])
        return out.decode()

    def test_short(self):
        out = self.demo()
        self.assertIn("All 3 scenes passed", out)
        rows = re.findall(r"^    \d+ K?M?i?B .*(?: +[\d.]+){5}$", out, re.M)
        heading = re.findall("^ +L p50 .*$", out, re.M)
        for line in rows:
            self.assertEqual(len(line), len(heading[0]), line)
        for line in out.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_all(self):
        out = self.demo("--all")
        self.assertIn("All 18 scenes passed", out)
        self.assertNotIn("FAILED", out)


def main(usage):
    """Runs the tests of the script; the first argument is the command."""
    # In a script that imports this module, the module's own CAY is meant.
    global CAY
    if len(sys.argv) < 2:
        sys.exit(usage)
    CAY = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main(__doc__)
