# SPDX-License-Identifier: BSD-2-Clause
"""Functions of tools/bench-fabric and tools/bench-rma: building the programs
of src/bench, running them, and comparing rounds by their hand-over (L).
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
HARNESS = [*(ROOT / "src/bench/harness").glob("*.c"),
           ROOT / "src/base/fields.c", ROOT / "src/base/json.c",
           ROOT / "src/bench/mpi/world.c"]
FLAGS = ["-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE",
         "-Isrc", "-Iinclude"]
TIMEOUT = 150  # seconds; a run takes a few on an idle machine
ROUND_TRIES = 10  # for each requested round
HANDOVER_FACTOR = 1.25  # between two runs that are compared
DISTURBED = 3  # exit status
# The programs pin their processes themselves.
LAUNCH = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to",
                      "none"],
          "mpich": ["mpirun.mpich", "-bind-to", "none"]}
PACKAGES = {"openmpi": "openmpi-bin libopenmpi-dev",
            "mpich": "mpich libmpich-dev"}


class Failed(Exception):
    """An error that a retry does not mend."""


class Disturbed(Exception):
    """This round gives no figure; another one may."""


# ---- programs ----

def start(command, **environment):
    environment = {**os.environ, **environment}
    if os.geteuid() == 0:
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = [str(word) for word in command]
    try:
        return subprocess.run(command, capture_output=True, text=True,
                              cwd=ROOT, env=environment, timeout=TIMEOUT,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(command)}: timed out after {TIMEOUT} s") \
            from late
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from error


def report(command, **environment):
    """Runs a program of src/bench: its report and its results by key."""
    run = start(command, **environment)
    if run.returncode not in (0, DISTURBED):
        lines = [line for line in (run.stderr or run.stdout).splitlines()
                 if line.strip(" -")]
        raise Failed(f"{' '.join(map(str, command))}: exit status "
                     f"{run.returncode}: " + "\n  ".join(lines[-5:]))
    try:
        found = json.loads(run.stdout)
    except ValueError as error:
        raise Failed(f"{command[0]}: not JSON: {run.stdout[:200]!r}") \
            from error
    return found, {r["key"]: r for r in found["results"]}


def check_machine(build, *files):
    for name in files:
        if not (build / name).exists():
            raise Failed(f"there is no {name} in {build}: run make first")
    if len(os.sched_getaffinity(0)) < 2:
        raise Failed("two cores are needed, but this process may use only "
                     "one; see taskset(1) and nproc(1)")


def build_mpi(mpi, program, *sources):
    """Compiles sources and the harness with the compiler of an MPI."""
    compiler = f"mpicc.{mpi}"
    for tool in compiler, LAUNCH[mpi][0]:
        if not shutil.which(tool):
            raise Failed(f"there is no {tool}: apt-get install "
                         f"{PACKAGES[mpi]}")
    run = start([compiler, *FLAGS, *sources, *HARNESS, "-o", program])
    if run.returncode:
        raise Failed(f"{compiler}: cannot build {program}:\n{run.stderr}")


# ---- rounds ----

def comparable(a_ns, b_ns):
    """Whether two hand-overs show the same distance between the cores."""
    return a_ns <= HANDOVER_FACTOR * b_ns and b_ns <= HANDOVER_FACTOR * a_ns


# ---- the command ----

def parse_arguments(program, text, rounds, extend):
    parser = argparse.ArgumentParser(
        prog=program, description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", metavar="DIR",
                        help="build directory; default: build")
    parser.add_argument("--rounds", type=int, metavar="N",
                        help=f"rounds to keep, 1 to 100; default: {rounds}")
    extend(parser)
    options = parser.parse_args()
    if options.rounds is None:
        options.rounds = 1 if getattr(options, "quick", False) else rounds
    if not 1 <= options.rounds <= 100:
        parser.error("--rounds: from 1 to 100")
    options.build = (ROOT / options.build).resolve()
    return options
