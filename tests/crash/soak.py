#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A soak test from outside: clients and nodes are killed, members are hostile.

usage: soak.py [--seconds N] [--seed N] CAY SOAK SOAK_HOSTILE

In each round some programs SOAK (a receiver and senders that it kills) share a
node with programs SOAK_HOSTILE, which scribble over the arena of their own
realm and send garbage to the node, and which are killed at random. SOAK checks
contents, order, sums and that no accepted message is lost. In some rounds the
node is killed, and the next clients must find a new one. At the end no process,
socket or name is left. The seed repeats the random decisions, not the times.
"""
import argparse
import json
import mmap
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

CELLS = 2
HOSTILE = 3
ROUND_SECONDS = 10
HANG_SECONDS = 120  # after the end of a round
SUMMARY = re.compile(r"(\d+) messages from (\d+) senders, (\d+) posted, "
                     r"(\d+) counted, (\d+) windows reopened, "
                     r"(\d+) entries voided")


class Failure(Exception):
    pass


def until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(what)
        time.sleep(0.02)


class Soak:
    def __init__(self, options, directory):
        self.options = options
        self.random = random.Random(options.seed)
        self.node = f"soak-{os.getpid()}"
        self.environment = dict(os.environ, CAY_NODE=self.node,
                                CAY_NODE_PROGRAM=options.cay)
        self.environment.pop("CAY_REALM", None)
        self.counters = directory / "counters"
        self.counters.write_bytes(bytes(mmap.PAGESIZE))
        self.messages = self.kills = self.voided = 0
        self.node_kills = self.hostile_kills = 0
        self.running = []

    # ---- processes ----

    def start(self, *command, **options):
        process = subprocess.Popen(
            command, env=self.environment, stdin=subprocess.DEVNULL,
            start_new_session=True, text=True, **options)
        self.running.append(process)
        return process

    def end(self, process):
        """Kills a process that this test has started, and its children."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()
        if process in self.running:
            self.running.remove(process)

    def cell_start(self, number, seconds):
        return self.start(
            self.options.soak, "-t", str(seconds), "-n", self.node, "-p",
            f"receiver-{number}", str(2 ** 62),
            str(self.random.getrandbits(31) | 1),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def hostile_start(self):
        return self.start(
            self.options.hostile, "hostile",
            str(self.random.getrandbits(62)), str(self.counters))

    def node_pid(self):
        """The process of the node, or None."""
        result = subprocess.run(
            [self.options.cay, "node", "status", "--json"],
            env=self.environment, capture_output=True, timeout=HANG_SECONDS)
        if result.returncode:
            return None
        return json.loads(result.stdout)["pid"]

    # ---- rounds ----

    def hostiles_disturb(self, hostiles, end):
        while time.monotonic() < end:
            time.sleep(self.random.uniform(0.05, 0.3))
            i = self.random.randrange(len(hostiles))
            if hostiles[i].poll() is not None:
                raise Failure(f"a hostile member exited: {hostiles[i].poll()}")
            self.end(hostiles[i])
            self.hostile_kills += 1
            hostiles[i] = self.hostile_start()

    def round(self, seconds, kills_node):
        cells = [self.cell_start(i, seconds) for i in range(CELLS)]
        hostiles = [self.hostile_start() for _ in range(HOSTILE)]
        end = time.monotonic() + seconds
        if kills_node:
            end -= seconds * self.random.uniform(0.2, 0.8)
        self.hostiles_disturb(hostiles, end)
        if kills_node:
            self.node_kill(cells)
        else:
            for cell in cells:
                self.cell_check(cell)
        for hostile in hostiles:
            self.end(hostile)

    def node_kill(self, cells):
        """The node dies with clients in the middle of their operations."""
        pid = self.node_pid()
        if pid is None:
            raise Failure("the node does not answer")
        os.kill(pid, signal.SIGKILL)
        self.node_kills += 1
        until(lambda: not os.path.exists(f"/proc/{pid}"), HANG_SECONDS,
              "the killed node stays")
        # A client that comes now finds or starts a new node.
        receiver = self.start(self.options.cay, "recv", "--count", "1",
                              "--timeout", "60", "after",
                              stdout=subprocess.PIPE)
        sender = subprocess.run(
            [self.options.cay, "send", "--wait", "60", "--ack", "after",
             "alive"],
            env=self.environment, capture_output=True, timeout=HANG_SECONDS)
        out = receiver.communicate(timeout=HANG_SECONDS)[0]
        if sender.returncode or receiver.returncode or out != "alive\n":
            raise Failure(f"no service after a killed node: {sender.stderr}")
        self.end(receiver)
        for cell in cells:
            self.end(cell)

    def cell_check(self, cell):
        try:
            out = cell.communicate(timeout=HANG_SECONDS)[0]
        except subprocess.TimeoutExpired:
            raise Failure("a receiver and its senders hang")
        found = SUMMARY.search(out)
        if cell.returncode or not found:
            raise Failure(f"status {cell.returncode}: {out}")
        messages, senders, _, _, _, voided = map(int, found.groups())
        self.messages += messages
        self.kills += senders
        self.voided += voided
        self.end(cell)

    # ---- leftovers ----

    def processes(self):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            if path.name == str(os.getpid()):
                continue
            try:
                words = (path / "environ").read_bytes().split(b"\0") + \
                    (path / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if self.node.encode() in words or \
                    b"CAY_NODE=" + self.node.encode() in words:
                found.append(path.name)
        return found

    def sockets(self):
        lines = pathlib.Path("/proc/net/unix").read_text().splitlines()
        return [line for line in lines
                if re.search(rf"/{self.node}(\b|\.)", line)]

    def files(self):
        found = []
        for directory in f"/run/user/{os.geteuid()}", "/dev/shm":
            for root, directories, files in os.walk(directory):
                found += [os.path.join(root, name)
                          for name in directories + files
                          if name.split(".")[0] == self.node]
        return found

    def leftovers_check(self):
        for what in self.processes, self.sockets, self.files:
            until(lambda: not what(), HANG_SECONDS,
                  f"left behind: {what.__name__} {what()}")

    # ---- the run ----

    def run(self):
        rounds = max(2, -(-self.options.seconds // ROUND_SECONDS))
        for i in range(rounds):
            self.round(max(1, self.options.seconds // rounds), i % 3 == 1)
        self.leftovers_check()
        words, requests = struct.unpack(
            "QQ", self.counters.read_bytes()[:16])
        if not (self.messages and self.kills and words and requests):
            raise Failure(
                f"nothing happened: {self.messages} messages, "
                f"{self.kills} kills, {words} words, {requests} requests")
        print(f"{rounds} rounds, {self.messages} messages verified, "
              f"{self.kills + self.hostile_kills} clients killed or ended, "
              f"{self.node_kills} nodes killed, {self.voided} entries voided, "
              f"{words} hostile words, {requests} hostile requests; nothing "
              f"lost, nothing left")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int)
    parser.add_argument("cay", type=os.path.abspath)
    parser.add_argument("soak", type=os.path.abspath)
    parser.add_argument("hostile", type=os.path.abspath)
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().getrandbits(31)
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        soak = Soak(options, pathlib.Path(directory))
        try:
            soak.run()
        except Failure as failure:
            print(f"soak: {failure}; seed {options.seed}", file=sys.stderr)
            return 1
        finally:
            for process in list(soak.running):
                soak.end(process)
    return 0


if __name__ == "__main__":
    sys.exit(main())
