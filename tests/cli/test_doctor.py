#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of cay doctor: the installation and the isolation of processes.

usage: test_doctor.py CAY [TEST...]

The build directory, in which CAY is, has the library and the provider.
"""
import ctypes.util
import json
import os
import shutil
import subprocess
import tempfile

import test_cli
from test_cli import CliTest, TIMEOUT


class DoctorTest(CliTest):
    def setUp(self):
        super().setUp()
        for name in "LD_LIBRARY_PATH", "FI_PROVIDER_PATH", "FI_PROVIDER":
            self.environment.pop(name, None)
        self.build = os.path.dirname(test_cli.CAY)
        self.soname = os.readlink(os.path.join(self.build, "libcay.so"))
        self.version = self.run_cay("--version").stdout.split()[1].decode()
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)

    def findings(self, *wrapper, status=0, **environment):
        """The findings by name, of a doctor that runs in a wrapper."""
        result = subprocess.run(
            [*wrapper, test_cli.CAY, "doctor", "--json"], text=True,
            capture_output=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL,
            env=dict(self.environment, **environment))
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stderr, "")
        return {f["name"]: f for f in json.loads(result.stdout)["findings"]}

    def unshare(self, *options):
        """Returns the command, or skips the test."""
        command = ["unshare", *options]
        try:
            subprocess.run([*command, "true"], check=True, timeout=TIMEOUT,
                           stderr=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("unshare " + " ".join(options) + " is not allowed")
        return command


class Library(DoctorTest):
    def library(self, **environment):
        return self.findings(**environment)["library"]

    def test_found(self):
        found = self.library(LD_LIBRARY_PATH=self.build)
        self.assertEqual(found["state"], "ok", found)
        self.assertIn(f"{self.build}/libcay.so.{self.version}",
                      found["finding"])

    def test_other_version(self):
        """A library of the same ABI but another release."""
        library = os.path.join(self.directory, self.soname)
        source = "unsigned cay_version(void) { return 9008007; }"
        try:
            subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o",
                            library, "-"], input=source.encode(), check=True,
                           timeout=TIMEOUT)
        except FileNotFoundError:
            self.skipTest("no compiler")
        found = self.library(LD_LIBRARY_PATH=self.directory)
        self.assertEqual(found["state"], "warn", found)
        self.assertIn(f"{library} of version 9.8.7", found["finding"])
        self.assertIn(f"has version {self.version}", found["finding"])
        self.assertIn("one build", found["advice"])

    def test_not_a_library(self):
        with open(os.path.join(self.directory, self.soname), "w") as f:
            f.write("not ELF" * 1000)
        found = self.library(LD_LIBRARY_PATH=self.directory)
        self.assertEqual(found["state"], "warn", found)
        self.assertIn("invalid ELF header", found["finding"])

    def test_not_found(self):
        """The library beside the command is named."""
        cay = os.path.join(self.directory, "cay")
        shutil.copy(test_cli.CAY, cay)
        result = subprocess.run([cay, "doctor", "--json"], timeout=TIMEOUT,
                                capture_output=True, env=self.environment)
        found, = [f for f in json.loads(result.stdout)["findings"]
                  if f["name"] == "library"]
        if found["state"] == "ok":
            self.skipTest("a library is installed")
        self.assertIn(self.soname, found["finding"])
        self.assertIn("make install", found["advice"])
        found = self.library()
        self.assertIn(f"LD_LIBRARY_PATH={self.build}", found["advice"])


class Provider(DoctorTest):
    def setUp(self):
        super().setUp()
        if not ctypes.util.find_library("fabric") or \
                not os.path.exists(os.path.join(self.build, "libcay-fi.so")):
            self.skipTest("no libfabric or no provider")

    def provider(self, path):
        """The finding; again if a busy machine exceeds its time limit."""
        for _ in range(10):
            found = self.findings(FI_PROVIDER_PATH=path)["provider"]
            if "no answer" not in found["finding"]:
                break
        return found

    def test_found(self):
        found = self.provider(self.build)
        self.assertEqual(found["state"], "ok", found)

    def test_not_found(self):
        found = self.provider(self.directory)
        if found["state"] == "ok":
            self.skipTest("the provider is installed")
        self.assertEqual(found["state"], "warn", found)
        self.assertIn(f"FI_PROVIDER_PATH={self.directory}", found["finding"])
        self.assertIn("FI_PROVIDER_PATH=" + self.build, found["advice"])


class Isolation(DoctorTest):
    def test_user_namespace(self):
        unshare = self.unshare("--user", "--map-root-user")
        found = self.findings(*unshare)["namespaces"]
        self.assertEqual(found["state"], "ok", found)
        self.assertIn("own namespaces (a container): user",
                      found["finding"])

    def test_node_in_another_user_namespace(self):
        unshare = self.unshare("--user", "--map-root-user")
        if os.geteuid() != 0:
            self.skipTest("the user's number changes too")
        self.receive()
        found = self.findings(*unshare)["namespaces"]
        self.assertEqual(found["state"], "warn", found)
        self.assertIn(f"node '{self.node}' has other namespaces (user)",
                      found["finding"])

    def test_node_in_another_pid_namespace(self):
        unshare = self.unshare("--pid", "--fork", "--mount-proc")
        self.receive()
        found = self.findings(*unshare)["namespaces"]
        self.assertEqual(found["state"], "warn", found)
        self.assertIn("not visible", found["finding"])
        self.assertIn("copied twice", found["finding"])

    def test_node_in_the_same_namespaces(self):
        self.receive()
        self.assertEqual(self.findings()["namespaces"]["state"], "ok")

    def run_directory(self, command):
        unshare = self.unshare("--user", "--map-root-user", "--mount")
        script = f"mount -t tmpfs none /run && {command} && exec \"$@\""
        return self.findings(*unshare, "sh", "-c", script,
                             "sh")["run directory"]

    def test_run_directory(self):
        found = self.run_directory("mkdir -p -m 700 /run/user/0")
        self.assertEqual(found["state"], "ok", found)
        for command, reason in (
                ("true", "No such file"),
                ("mkdir -p /run/user && touch /run/user/0", "not a direct"),
                ("mkdir -p -m 755 /run/user/0", "other users have access"),
                ("mkdir -p -m 700 /run/user/1 && ln -s 1 /run/user/0",
                 "not a direct")):
            with self.subTest(command):
                found = self.run_directory(command)
                self.assertEqual(found["state"], "warn", found)
                self.assertIn(reason, found["finding"])
                self.assertIn("install -d -m 700", found["advice"])


class Status(DoctorTest):
    def test_warnings_pass(self):
        """Warnings are no failure; something that is missing is one."""
        with open(os.path.join(self.directory, self.soname), "w"):
            pass
        found = self.findings(LD_LIBRARY_PATH=self.directory)
        self.assertEqual(found["library"]["state"], "warn")
        found = self.findings("sh", "-c", 'ulimit -f 1000; exec "$@"', "sh",
                              status=1)["arena"]
        self.assertEqual(found["state"], "missing", found)
        self.assertIn("ulimit -f", found["advice"])

    def test_invalid_name(self):
        found = self.findings(status=1, CAY_NODE="a/b")
        self.assertEqual(found["node"]["state"], "missing")
        self.assertEqual(found["namespaces"]["state"], "ok")


if __name__ == "__main__":
    test_cli.main(__doc__)
