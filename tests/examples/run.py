#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs an example in a node of its own and compares its output.

usage: run.py PROGRAM [--cay FILE]

The program must exit with 0. Every line of its output must match a pattern of
EXPECTED, and every pattern a line. The program is then run where no node can be
started: it must name the call that failed, exit with 1 and print nothing else.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

RUN_SECONDS_MAX = 100
HEX = "[0-9a-f]{16}"
EXPECTED = {
    "barrier": ["4 members, 100 rounds, 404 arrivals"],
    "counter": ["3 processes and a thread added 50000 each: 200000",
                "ok: no increment is lost", "ok: one process was elected"],
    "death": [r"process \d+ was killed while it sent; GONE arrived after [\d.]+ ms",
              r"(\d{4,}) messages received, \1 of them in order",
              "ok: no message is missing",
              "ok: the GONE event is the last one of the peer",
              "ok: the long message completed with an error",
              "ok: sending to the peer returns -EPIPE",
              "ok: the name is available again"],
    "hello": ["hello, world"],
    "lock": ["ok: a put is refused while another port has the lock",
             "ok: the lock is not available",
             r"locked [\d.]+ ms after its holder, process \d+, was killed",
             "ok: the lock passes to the next port",
             "ok: a put of the holder is accepted"],
    "message": [r"receiver: tag 1, API tag 0, 21 bytes from port \d+",
                r"receiver: tag 2, API tag 77, 1000 bytes from port \d+",
                r"receiver: tag 3, API tag 0, 6 bytes from port \d+",
                r"receiver: tag 4, API tag 0, 3 bytes from port \d+",
                "sender:   completion of tag 3: FAST_SEND",
                "sender:   completion of tag 4: FAST_SEND"],
    "order": [r"\d+ messages accepted, then: .*",
              "ok: a full queue refuses the next message",
              "ok: a message with CAY_PRIORITY is accepted",
              "ok: all messages arrived in order",
              "ok: the queue accepts messages again",
              "ok: a fenced message waits for the long one in flight",
              "ok: the long message is complete",
              "ok: then the fenced message is accepted"],
    "pingpong": [r"\d+ round trips of 8 bytes: one way p50 \d+ ns, p99 \d+ ns"],
    "posted": ["message of 65536 bytes in buffer 0: complete",
               "message of 131072 bytes in buffer 1: posted_truncated"],
    "publish": ["100 updates to 8 subscribers, 0 missed",
                "ok: all subscribers received what they wanted",
                "ok: the publisher knows who has left"],
    "queue": ["60 tasks done, 1 worker killed",
              "ok: the other workers have left",
              "ok: another worker did its task"],
    "raw": ["VCI", "NQE", rf"  word \d: {HEX}  word \d: {HEX}",
            r"trigger: 1 accepted, \d+ entries of the work queue free",
            "ok: the VCI is accepted",
            "ok: the NQE has the tags and the payload of the VCI",
            "completion: no error", "ok: the VCI is complete",
            "completion: the command word, .*",
            "ok: an invalid VCI is completed with an error"],
    "remote": ["child:  65536 bytes written and read back: equal",
               "child:  refused: the capability is not the target window's",
               "child:  refused: the target window's rights do not allow it",
               "child:  refused: the access reaches outside the target window",
               'parent: memory contains "put HERE by the child"',
               "parent: notified of a refusal: the capability is not .*"],
    "request": ["client [123]: 100 replies", "client 1: .*", "client 2: .*",
                "client 3: .*", "server: 300 requests of 3 clients"],
    "stream": ["sender: 64 messages from 4 buffers, 64 read in place",
               "receiver: 64 MiB in order"],
    "ultra": ["ok: 10000 messages there and back, in order",
              "ok: an event says that the peer has received a message",
              "ok: a path ends after its last message"],
}


def compare(name, output):
    lines, patterns = output.splitlines(), EXPECTED[name]
    for line in lines:
        if not any(re.fullmatch(p, line) for p in patterns):
            sys.exit(f"unexpected: {line}")
    for pattern in patterns:
        if not any(re.fullmatch(pattern, line) for line in lines):
            sys.exit(f"missing: {pattern}")


def run(program, environment, **more):
    return subprocess.Popen([program], env=environment, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            **more)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--cay", type=pathlib.Path)
    options = parser.parse_args()
    name = options.program.name
    environment = {**os.environ, "CAY_NODE": f"example-{os.getpid()}"}

    example = run(options.program, environment)
    if name == "hello":  # waits for a message
        subprocess.run([options.cay, "send", "hello", "hello, world"],
                       env=environment, check=True, timeout=RUN_SECONDS_MAX)
    output, _ = example.communicate(timeout=RUN_SECONDS_MAX)
    print(output, end="")
    if example.returncode != 0:
        sys.exit(f"exit status {example.returncode}")
    compare(name, output)

    environment["CAY_NODE"] += "-unusable"
    environment["CAY_NODE_PROGRAM"] = "/nonexistent"
    example = run(options.program, environment, stderr=subprocess.PIPE)
    output, errors = example.communicate(timeout=RUN_SECONDS_MAX)
    print(f"without a node: {errors}", end="")
    if example.returncode != 1 or output or \
            not re.fullmatch(r"\w+: cay_port_open: .+\n", errors):
        sys.exit(f"exit status {example.returncode}, output '{output}'")


if __name__ == "__main__":
    main()
