#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compiles ring_mpi.c with Open MPI and runs it over Cay.

usage: mpi.py SOURCE PROVIDER

Exit status 77: Open MPI is not installed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

COMPILER, LAUNCHER = "mpicc.openmpi", "mpirun.openmpi"
RANKS, LAPS = 4, 50


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, provider = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    for program in COMPILER, LAUNCHER:
        if not shutil.which(program):
            print(f"{program} is not installed")
            sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="cay-mpi-") as directory:
        ring = pathlib.Path(directory) / "ring_mpi"
        subprocess.run([COMPILER, "-Wall", "-Wextra", "-Werror", source, "-o",
                        ring], check=True)
        environment = {**os.environ, "TMPDIR": directory,
                       "CAY_NODE": f"ring-{os.getpid()}",
                       "FI_PROVIDER_PATH": str(provider.parent)}
        done = subprocess.run(
            [LAUNCHER, "-n", str(RANKS), "--oversubscribe",
             "--allow-run-as-root", "-x", "CAY_NODE", "-x", "CAY_NODE_PROGRAM",
             "-x", "FI_PROVIDER_PATH", "--mca", "pml", "cm", "--mca", "mtl",
             "ofi", "--mca", "mtl_ofi_provider_include", "cay", ring],
            env=environment, stdout=subprocess.PIPE, text=True, timeout=400)
    print(done.stdout, end="")
    expected = (f"{RANKS} ranks, {LAPS} laps, sum "
                f"{LAPS * RANKS * (RANKS - 1) // 2}: right\n")
    if done.returncode != 0 or done.stdout != expected:
        sys.exit(f"exit status {done.returncode}, instead of: {expected}")


if __name__ == "__main__":
    main()
