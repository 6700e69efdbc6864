#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checks what docs/containers.md says about namespaces and users.

usage: containers.py CAY

A receiver and its node run outside; a sender runs in namespaces of its own, or as
another user, and reaches the receiver or not. Exit status 77: not run by root,
or the system refuses namespaces.
"""
import contextlib
import os
import subprocess
import sys

SECONDS_MAX = 60
NOBODY = 65534
LONG = "x" * 20000  # sent by reference; fits into a pipe
# /run/user hidden: the container has a file system of its own.
HIDE = ["sh", "-c", "mount -t tmpfs none /run/user 2>/dev/null; exec \"$@\"",
        "sh"]
USER = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
# (what, the prefix of the sender, the prefix of the receiver, reached)
CASES = [
    ("no namespace", [], [], True),
    ("another network", ["unshare", "-n", "-m", *HIDE], [], False),
    ("other PIDs", ["unshare", "-p", "-f", "--mount-proc"], [], True),
    ("a node with other PIDs", [], ["unshare", "-p", "-f", "--mount-proc"],
     True),
    ("other mounts, IPC, names", ["unshare", "-m", "-i", "-u", *HIDE], [],
     True),
    ("another user", USER, [], False),
    ("another user ID in a namespace",
     [*USER, "unshare", "--user", "--map-root-user"], USER, False),
    ("the same user ID in a namespace",
     [*USER, "unshare", "--user", f"--map-user={NOBODY}"], USER, True),
]


@contextlib.contextmanager
def receiver(cay, prefix, environment):
    with subprocess.Popen(
            [*prefix, cay, "recv", "target"], env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        # Its own side reaches it: the port is open.
        subprocess.run([*(prefix if prefix == USER else []), cay, "send",
                        "target", "opened"], env=environment, check=True,
                       timeout=SECONDS_MAX)
        process.stdout.readline()
        yield process
        process.kill()


def reached(cay, prefix, target, environment):
    for text in "hello", LONG:
        done = subprocess.run(
            [*prefix, cay, "send", "--lines", "--wait", "0", "target"],
            env=environment, input=text + "\n", text=True, timeout=SECONDS_MAX,
            capture_output=True)
        if done.returncode != 0:
            print(f"    {done.stderr.strip()}")
            return False
        if target.stdout.readline() != text + "\n":
            sys.exit("another message arrived")
    return True


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cay = os.path.abspath(sys.argv[1])
    if os.geteuid() != 0 or subprocess.run(
            ["unshare", "-n", "-p", "-f", "-m", "true"],
            stderr=subprocess.DEVNULL).returncode != 0 or subprocess.run(
            [*USER, "unshare", "--user", cay, "--version"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode != 0:
        print("needs root, namespaces, and a program that all users can run")
        sys.exit(77)
    failed = 0
    for number, (what, inside, outside, expected) in enumerate(CASES):
        environment = {**os.environ,
                       "CAY_NODE": f"containers-{os.getpid()}-{number}",
                       "CAY_NODE_PROGRAM": cay}
        environment.pop("CAY_REALM", None)
        with receiver(cay, outside, environment) as target:
            result = reached(cay, inside, target, environment)
        print(f"{'ok' if result == expected else 'FAILED'}: {what}: "
              f"{'reached' if result else 'not reached'}")
        failed += result != expected
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
