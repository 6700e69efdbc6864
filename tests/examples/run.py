#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs an example in a node of its own: it prints something and exits with 0.

usage: run.py PROGRAM
"""
import os
import subprocess
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    environment = {**os.environ, "CAY_NODE": f"example-{os.getpid()}"}
    done = subprocess.run([sys.argv[1]], env=environment, text=True,
                          stdout=subprocess.PIPE)
    print(done.stdout, end="")
    if done.returncode != 0:
        sys.exit(f"exit status {done.returncode}")
    if not done.stdout.strip():
        sys.exit("no output")


if __name__ == "__main__":
    main()
