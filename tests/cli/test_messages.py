#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of error messages: each names what is wrong and what is possible.

usage: test_messages.py CAY [TEST...]
"""
import os
import re
import socket

import test_cli
from test_cli import CliTest

NAME_RULE = "letters, digits and ._:@+-"

# Arguments, and texts that the message contains.
USAGE = [
    (["nonsense"], "'nonsense'", "demo, send, recv, node", "completion"),
    (["sned"], "did you mean 'send'?"),
    (["hlp"], "completion or help", "did you mean 'help'?"),
    (["node", "status", "--node", "a/b"], "--node a/b", NAME_RULE),
    (["node", "status", "--node", "a", "b"], "--node a", "'b'"),
    (["node", "stat"], "status, list, fence or serve",
     "did you mean 'status'?"),
    (["trace", "x"], "record, replay, show"),
    (["--versio"], "'--versio'", "--help or --version"),
    (["node", "--json"], "'--json'", "--help"),
    (["help", "tpo"], "did you mean 'top'?"),
    (["help", "node", "x"], "status, list, fence or serve"),
    (["top", "-x"], "'-x'", "n d b h"),
    (["top", "--dellay", "1"], "did you mean --delay?"),
    (["sim", "torus", "--lo", "1"], "--load or --loads"),
    (["top", "--count"], "'--count'", "N: 1 to 4294967295"),
    (["top", "-n"], "'--count'", "N: 1 to 4294967295"),
    (["recv", "--timeout"], "SECONDS: a number of seconds"),
    (["recv", "--node"], "NODE: " + NAME_RULE),
    (["sim", "torus", "--router"], "NAME: extoll, atoll or iq4"),
    (["top", "--color", "allways"], "auto, always or never",
     "did you mean 'always'?"),
    (["recv", "--json=x", "y"], "'--json'", "takes no value"),
    (["send"], "missing NAME", "NAME [MESSAGE]"),
    (["send", "a", "b", "c"], "'c'", "NAME [MESSAGE]"),
    (["node", "list", "x"], "'x'", "only options"),
    (["node", "fence"], "missing PID", "PID [NAME]"),
    (["node", "fence", "zero"], "'zero'", "1 to 2147483647",
     "cay node status"),
    (["send", "--node", "", "x", "y"], "--node ''", NAME_RULE),
    (["send", "a/b", "y"], "'a/b'", "port name", NAME_RULE),
    (["send", "--lines", "x", "y"], "--lines", "MESSAGE"),
    (["sim", "tours"], "'tours'", "did you mean 'torus'?"),
    (["sim", "torus", "--hot-spot", "600:0.1"], "600", "511"),
    (["explain", "faas"], "fast_send", "did you mean 'faa'?"),
    (["explain", "put", "--bytes", "1M"], "1048576", "put takes 0 to 65536"),
    (["explain", "put", "--bytes", "many"], "--bytes many", "640 or 4K"),
    (["explain", "all", "--bytes", "8"], "not with all"),
    (["trace", "record", "ls"], "missing -o FILE"),
    (["bench", "--sizes", "2M"], "2M", "up to 1M"),
    (["node", "serve", "--arena", "1K"], "1K", "128M to 64T"),
    (["completion", "fish"], "'fish'", "bash"),
]


class Usage(CliTest):
    def test_messages(self):
        for arguments, *texts in USAGE:
            with self.subTest(arguments):
                result = self.run_cay(*arguments)
                message = result.stderr.decode()
                self.assertEqual(result.returncode, 2, message)
                for text in texts:
                    self.assertIn(text, message)
                # One line of message, and where to read more.
                first, second = message.splitlines()
                self.assertRegex(first, "^cay[a-z ]*: ")
                self.assertRegex(second, "^try: cay .*--help$")
                help_words = second.split()[2:]
                self.assertEqual(self.run_cay(*help_words).returncode, 0)

    def test_environment(self):
        for variable, what in ("CAY_NODE", "node"), ("CAY_REALM", "realm"):
            for arguments in ["send", "x", "y"], ["recv", "x"]:
                with self.subTest(variable, arguments=arguments):
                    environment = self.environment
                    self.environment = dict(environment, **{variable: "a/b"})
                    result = self.run_cay(*arguments)
                    self.environment = environment
                    self.assertEqual(result.returncode, 2)
                    message = result.stderr.decode()
                    self.assertIn(f"{variable} is 'a/b'", message)
                    self.assertIn(f"valid {what} name", message)
                    self.assertIn("unset", message)

    def test_required_option_is_in_the_usage(self):
        text = self.run_cay("trace", "record", "--help").stdout.decode()
        self.assertIn("usage: cay trace record [OPTIONS] -o FILE PROGRAM",
                      text)
        self.assertRegex(text, r"-o, --output FILE .*\(required\)")

    def test_help_of_every_command(self):
        """-h, --help and cay help print the same, for every command."""
        def commands(words):
            text = self.run_cay(*words, "--help").stdout.decode()
            for option in "-h", "--help":
                result = self.run_cay(*words, option)
                self.assertEqual(result.returncode, 0, words)
                self.assertEqual(result.stdout.decode(), text)
                self.assertEqual(result.stderr, b"")
            self.assertEqual(self.run_cay("help", *words).stdout.decode(),
                             text)
            self.assertTrue(text.startswith(
                " ".join(["usage: cay", *words]) + " "), text)
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
            yield words
            below = re.search(r"\nCommands:\n((?:  .*\n)+)", text)
            for name in re.findall(r"(?m)^  (\S+)", below[1] if below else ""):
                yield from commands([*words, name])
        found = list(commands([]))
        self.assertIn(["trace", "record"], found)
        self.assertIn(["node", "serve"], found)
        self.assertGreater(len(found), 18)


class Failures(CliTest):
    def failed(self, *arguments):
        result = self.run_cay(*arguments)
        self.assertEqual(result.returncode, 1, result.stderr)
        return result.stderr.decode()

    def test_no_node(self):
        for arguments in ["node", "status"], ["top", "-n", "1"], \
                ["node", "fence", "1"], \
                ["node", "status", "--node", self.node]:
            message = self.failed(*arguments)
            self.assertIn(f"no node named '{self.node}' is running", message)
            self.assertIn("cay node list", message)

    def test_other_nodes_are_named(self):
        self.receive()
        environment = self.environment
        self.environment = dict(environment, CAY_NODE=self.node + "x")
        names = self.run_cay("node", "list").stdout.decode().split()
        message = self.failed("node", "status")
        self.environment = environment
        # The list is cut off; other tests may start and end nodes.
        listed = message.split("this user: ")[1].strip().split(", ")
        self.assertTrue(set(listed) & {*names, "..."}, (listed, names))

    def test_unknown_port(self):
        message = self.failed("send", "--wait", "0", "nobody", "x")
        self.assertIn(f"no port has the name 'nobody' in realm 'default' of "
                      f"node '{self.node}'", message)
        self.assertIn("no port there has a name", message)
        self.assertIn("cay recv nobody", message)

    def test_known_ports(self):
        """The names of the same realm only."""
        self.receive(name="first")
        self.receive(name="second")
        self.receive("--realm", "other", name="third")
        message = self.failed("send", "--wait", "0", "frist", "x")
        self.assertIn("the names there are first, second;", message)
        message = self.failed("send", "--wait", "0", "--realm", "other", "x",
                              "y")
        self.assertIn("in realm 'other'", message)
        self.assertIn("the names there are third;", message)

    def test_name_in_use(self):
        receiver = self.receive(name="taken")
        message = self.failed("recv", "taken")
        self.assertIn("another port has the name 'taken' "
                      f"(process {receiver.pid})", message)
        self.assertIn(f"in realm 'default' of node '{self.node}'", message)

    def test_other_users_node(self):
        """A process of another user listens at the address."""
        if os.geteuid() != 0:
            self.skipTest("needs root to become another user")
        ready, done = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            os.setresuid(65533, 65533, 65533)
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.bind(f"\0cay/0/{self.node}")
            s.listen()
            os.write(ready[1], b"x")
            os.close(done[1])
            os.read(done[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
        try:
            message = self.failed("send", "x", "y")
        finally:
            os.write(done[1], b"x")
            os.waitpid(child, 0)
            for fd in *ready, *done:
                os.close(fd)
        self.assertIn(f"node '{self.node}' belongs to another user", message)
        self.assertIn("--node or CAY_NODE", message)

    def test_files(self):
        for arguments, *texts in (
                (["trace", "show", "/none"], "/none", "No such file"),
                (["trace", "show", "/"], "/", "directory"),
                (["trace", "show", "/etc/hostname"], "must be 'cay-trace "),
                (["sim", "torus", "--trace", "/none"], "/none", "No such"),
                (["sim", "graph", "--graph", "/none"], "/none", "No such"),
                (["bench", "--samples", "/none/x"], "/none/x", "No such"),
                (["bench", "--cores", "0,4095"], "0,4095", "may use:")):
            with self.subTest(arguments):
                message = self.failed(*arguments)
                for text in texts:
                    self.assertIn(text, message)


if __name__ == "__main__":
    test_cli.main(__doc__)
