#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Which program is started as the node: the one near the code that needs it,
never one of the working directory, and once if it fails.

usage: test_program.py CAY STATIC_LIBRARY SHARED_LIBRARY INCLUDE_DIRECTORY CC...
"""
import ctypes
import errno
import itertools
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

CAY, STATIC, SHARED = map(os.path.abspath, sys.argv[1:4])
INCLUDE, *CC = sys.argv[4:]
TIMEOUT_S = 60
COUNTER = itertools.count()

# Changes to a directory, opens a port, and prints errno.
PROGRAM = """
#include <cay/cay.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc > 1 && chdir(argv[1]) != 0)
		return 2;
	if (argc > 2 && strcmp(argv[2], "ignore") == 0)
		signal(SIGCHLD, SIG_IGN);
	struct cay_port *port = cay_port_open(NULL);
	printf("%d", port ? 0 : errno);
	return port && cay_port_close(port) == 0 ? 0 : 1;
}
"""


def script(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    path.chmod(0o755)


class ProgramTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        # Foreign programs write here when they are executed.
        self.log = self.directory / "log"
        self.foreign = self.directory / "foreign"
        self.foreign.mkdir()
        self.environment = dict(os.environ,
                                CAY_NODE=f"program-{os.getpid()}-{next(COUNTER)}")
        self.environment.pop("CAY_NODE_PROGRAM", None)

    def executed(self):
        return self.log.read_text().split() if self.log.exists() else []

    def foreign_program(self, path):
        script(path, f"echo {path} >> {self.log}", "exit 1")

    def compile(self, path, *arguments):
        """The program of the test, with a program cay in its directory."""
        path.parent.mkdir(parents=True, exist_ok=True)
        source = self.directory / "program.c"
        source.write_text(PROGRAM)
        subprocess.run([*CC, "-Wall", "-Werror", "-I", INCLUDE, source,
                        *arguments, "-pthread", "-o", path], check=True)
        return path

    def open_port(self, program, *arguments, argv0=None, preexec_fn=None,
                  **variables):
        """Runs the program in the foreign directory. Returns its errno."""
        result = subprocess.run(
            [argv0 or program, self.foreign, *arguments], executable=program,
            env=dict(self.environment, **variables), cwd=self.directory,
            stdout=subprocess.PIPE, timeout=TIMEOUT_S, preexec_fn=preexec_fn)
        self.assertEqual(result.returncode, 0 if result.stdout == b"0" else 1)
        return int(result.stdout)

    # ---- the command, found through PATH ----

    def exchange(self):
        """Sends a message with cay from PATH, in the foreign directory."""
        self.environment["PATH"] = \
            f"{pathlib.Path(CAY).parent}:{os.environ['PATH']}"
        receiver = subprocess.Popen(
            ["cay", "recv", "--count", "1", "x"], env=self.environment,
            cwd=self.foreign, stdout=subprocess.PIPE)
        self.addCleanup(receiver.stdout.close)
        self.addCleanup(receiver.kill)
        subprocess.run(["cay", "send", "x", "hello"], env=self.environment,
                       cwd=self.foreign, check=True, timeout=TIMEOUT_S)
        self.assertEqual(receiver.communicate(timeout=TIMEOUT_S)[0],
                         b"hello\n")
        self.assertEqual(self.executed(), [])

    def test_program_in_the_working_directory(self):
        self.foreign_program(self.foreign / "cay")
        self.exchange()

    def test_folder_in_the_working_directory(self):
        (self.foreign / "cay").mkdir()
        self.exchange()

    # ---- applications ----

    def application(self, *arguments):
        """In a directory with cay, started under the name ./cay."""
        program = self.compile(self.directory / "bin" / "application",
                               *arguments)
        shutil.copy(CAY, program.parent / "cay")
        for name in "cay", "bin/cay":
            self.foreign_program(self.foreign / name)
        for argv0 in "cay", "./cay", "bin/application", "":
            self.environment["CAY_NODE"] += "+"
            self.assertEqual(self.open_port(program, argv0=argv0), 0)
        self.assertEqual(self.executed(), [])

    def test_static_library(self):
        self.application(STATIC)

    def test_static_program(self):
        self.application("-static", STATIC)

    def test_relative_library_path(self):
        """The loader names the library by a relative path, and the program
        changes its directory before it opens a port."""
        program = self.compile(self.directory / "application", SHARED)
        library = self.directory / "lib"
        library.mkdir()
        for name in pathlib.Path(SHARED).parent.glob("libcay.so*"):
            if name.is_file():
                shutil.copy(name, library)
        shutil.copy(CAY, library / "cay")
        self.foreign_program(self.foreign / "lib" / "cay")
        self.foreign_program(self.foreign / "cay")
        self.assertEqual(
            self.open_port(program, LD_LIBRARY_PATH="lib"), 0)
        self.assertEqual(self.executed(), [])

    def test_folder_beside_the_program(self):
        """A folder is skipped; the next place is tried."""
        program = self.compile(self.directory / "a" / "application", STATIC)
        (program.parent / "cay").mkdir()
        shutil.copy(CAY, self.directory / "cay")
        self.assertEqual(self.open_port(program), 0)

    def test_program_of_another_user(self):
        """Others may put a program into the parent of the directory."""
        if os.geteuid() != 0:
            self.skipTest("only root can create a file of another user")
        program = self.compile(self.directory / "a" / "application", STATIC)
        self.foreign_program(self.directory / "cay")
        os.chown(self.directory / "cay", 65534, 65534)
        (self.directory / "bin").mkdir()
        link = self.directory / "bin" / "cay"
        link.symlink_to("/bin/true")
        os.chown(link, 65534, 65534, follow_symlinks=False)
        # The installed program is started, if there is one.
        self.assertIn(self.open_port(program), (0, errno.ENOENT))
        self.assertEqual(self.executed(), [])

    def replaceable(self, directory):
        """A program of this user in a directory is not executed. Strangers
        could replace it after any check of the file alone."""
        program = self.compile(self.directory / "a" / "application", STATIC)
        self.foreign_program(directory / "cay")
        return program

    def test_directory_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can create a directory of another user")
        program = self.replaceable(self.directory / "bin")
        os.chown(self.directory / "bin", 65534, 65534)
        self.assertIn(self.open_port(program), (0, errno.ENOENT))
        self.assertEqual(self.executed(), [])

    def test_link_of_another_user_to_a_directory(self):
        if os.geteuid() != 0:
            self.skipTest("only root can create a link of another user")
        program = self.replaceable(self.directory / "other")
        link = self.directory / "bin"
        link.symlink_to("other")
        os.chown(link, 65534, 65534, follow_symlinks=False)
        self.assertIn(self.open_port(program), (0, errno.ENOENT))
        self.assertEqual(self.executed(), [])

    def test_directory_that_all_may_write_to(self):
        program = self.replaceable(self.directory / "bin")
        (self.directory / "bin").chmod(0o777)
        self.assertIn(self.open_port(program), (0, errno.ENOENT))
        self.assertEqual(self.executed(), [])

    def test_link_into_a_directory_that_all_may_write_to(self):
        program = self.replaceable(self.directory / "other")
        (self.directory / "other").chmod(0o777)
        (self.directory / "bin").mkdir()
        (self.directory / "bin" / "cay").symlink_to("../other/cay")
        self.assertIn(self.open_port(program), (0, errno.ENOENT))
        self.assertEqual(self.executed(), [])

    def test_directories_in_which_strangers_replace_nothing(self):
        """In a sticky directory others cannot replace the directory "bin"; a
        group was chosen by the owner; and so was a link."""
        program = self.compile(self.directory / "a" / "application", STATIC)
        (self.directory / "bin").mkdir()
        shutil.copy(CAY, self.directory / "bin" / "program")
        (self.directory / "bin" / "cay").symlink_to("program")
        self.directory.chmod(0o1777)
        (self.directory / "bin").chmod(0o775)
        self.assertEqual(self.open_port(program), 0)

    def test_environment_of_a_setuid_program(self):
        """It belongs to the user who called the program."""
        if os.geteuid() != 0:
            self.skipTest("only root can create a setuid program of others")
        program = self.compile(self.directory / "bin" / "application", STATIC)
        shutil.copy(CAY, program.parent / "cay")
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        for path in self.directory, program.parent, self.foreign:
            path.chmod(0o755)
        self.log.touch()
        self.log.chmod(0o666)
        self.foreign_program(self.foreign / "program")
        # "not/valid" would be refused with EINVAL.
        self.assertEqual(self.open_port(
            program, CAY_NODE="not/valid", CAY_REALM="not/valid",
            CAY_NODE_PROGRAM=str(self.foreign / "program")), 0)
        self.assertEqual(self.executed(), [])

    # ---- programs that fail ----

    def failing(self, *lines, arguments=()):
        program = self.compile(self.directory / "bin" / "application", STATIC)
        path = self.directory / "failing"
        script(path, f"echo once >> {self.log}", *lines)
        return self.open_port(program, *arguments, CAY_NODE_PROGRAM=str(path))

    def test_failing_program_is_executed_once(self):
        self.assertEqual(self.failing("exit 1"), errno.ENOEXEC)
        self.assertEqual(self.executed(), ["once"])

    def test_killed_program_is_executed_once(self):
        self.assertEqual(self.failing("kill -9 $$"), errno.ENOEXEC)
        self.assertEqual(self.executed(), ["once"])

    def test_error_of_the_program(self):
        self.assertEqual(self.failing(f"exit {64 + errno.EFBIG}"), errno.EFBIG)
        self.assertEqual(self.executed(), ["once"])

    def test_failing_program_without_exit_status(self):
        """The kernel reaps the children of a process that ignores SIGCHLD."""
        self.assertEqual(self.failing("exit 1", arguments=["ignore"]),
                         errno.ENOEXEC)
        self.assertLessEqual(len(self.executed()), 3)

    def test_limit_of_file_sizes(self):
        """The arena is a file. The kernel must not kill the node for it."""
        program = self.compile(self.directory / "bin" / "application", STATIC)
        path = self.directory / "wrapper"
        script(path, f"echo once >> {self.log}", f'exec {CAY} "$@"')
        limit = 1 << 20
        self.assertEqual(self.open_port(
            program, CAY_NODE_PROGRAM=str(path),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                  (limit, limit))),
            errno.EFBIG)
        self.assertEqual(self.executed(), ["once"])
        self.assertIn("ulimit -f", self.text(errno.EFBIG))

    def test_no_program(self):
        program = self.compile(self.directory / "bin" / "application", STATIC)
        for path in "/nonexistent/cay", str(self.directory), "bin/application":
            self.assertEqual(self.open_port(program, CAY_NODE_PROGRAM=path),
                             errno.ENOENT)

    def text(self, error):
        library = ctypes.CDLL(SHARED)
        library.cay_strerror.restype = ctypes.c_char_p
        return library.cay_strerror(-error).decode()

    def test_error_has_a_text(self):
        self.assertIn("program of the node", self.text(errno.ENOEXEC))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
