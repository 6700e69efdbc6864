#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of what cay recv prints on a terminal.

usage: test_recv.py CAY [TEST...]
"""
import os
import pty
import re
import termios
import threading

import test_cli
from test_cli import CliTest, TIMEOUT

# What a sender may try: clear the screen, set the title, a C1 CSI as UTF-8 and
# as a byte, a carriage return over the text, erase, bell, a NUL, a character
# that is cut off, an overlong ESC.
HOSTILE = [
    (b"\033[2Jx", rb"\x1b[2Jx"),
    (b"\033]0;title\007", rb"\x1b]0;title\x07"),
    (b"\xc2\x9b2J", rb"\xc2\x9b2J"),
    (b"\x9b2J", rb"\x9b2J"),
    (b"real\rfake", rb"real\x0dfake"),
    (b"ab\b\b\x7f", rb"ab\x08\x08\x7f"),
    (b"a\0b", rb"a\x00b"),
    (b"cut \xe2\x82", rb"cut \xe2\x82"),
    (b"\xc0\x9b", rb"\xc0\x9b"),
    (b"\xed\xa0\x80", rb"\xed\xa0\x80"),
    (b"\xf4\x90\x80\x80", rb"\xf4\x90\x80\x80"),
]
HARMLESS = ["", "tab\there", "two\nlines", "\u00e9\u20ac\U0001f41f",
            "\u00a0", "back\\slash", "~" * 300]


class TerminalOutput(CliTest):
    def open_terminal(self):
        """Returns the ends of a terminal that changes no character."""
        master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self.addCleanup(os.close, master)
        return master, slave

    def received(self, messages, *options):
        """What a receiver prints on a terminal."""
        master, slave = self.open_terminal()
        receiver = self.receive(*options, "--count", str(len(messages)),
                                stdout=slave)
        os.close(slave)
        output = []

        def collect():
            try:
                while True:
                    output.append(os.read(master, 65536))
            except OSError:  # EIO: the receiver has exited
                pass

        collector = threading.Thread(target=collect, daemon=True)
        collector.start()
        for message in messages:
            self.send("--ack", "x", data=message)
        self.assertEqual(receiver.wait(TIMEOUT), 0)
        collector.join(TIMEOUT)
        return b"".join(output)

    def test_control_characters_are_escaped(self):
        output = self.received([data for data, _ in HOSTILE])
        self.assertEqual(output.split(b"\n")[:-1],
                         [shown for _, shown in HOSTILE])

    def test_text_is_unchanged(self):
        output = self.received([text.encode() for text in HARMLESS])
        self.assertEqual(output.decode(), "".join(
            text + "\n" for text in HARMLESS))

    def test_every_byte(self):
        """Nothing but printable ASCII and newlines reaches the terminal."""
        data = bytes(range(256)) * 100  # longer than an eager message
        output = self.received([data])
        self.assertEqual(re.sub(rb"[\n\t -~]", b"", output), b"")
        self.assertEqual(output.count(rb"\x1b"), 100)
        self.assertEqual(output.count(rb"\x9b"), 100)

    def test_raw(self):
        messages = [data for data, _ in HOSTILE]
        self.assertEqual(self.received(messages, "--raw"), b"".join(messages))

    def test_json(self):
        """JSON is pure text on a terminal too."""
        output = self.received([data for data, _ in HOSTILE], "--json")
        self.assertEqual(re.sub(rb"[\n -~]", b"", output), b"")
        self.assertIn(rb'"data":"\u009b2J"', output)

    def test_pipe_is_raw(self):
        receiver = self.receive("--count", str(len(HOSTILE)), collect=True)
        for data, _ in HOSTILE:
            self.send("--ack", "x", data=data)
        self.assertEqual(self.finish(receiver),
                         b"".join(data + b"\n" for data, _ in HOSTILE))


class Errors(CliTest):
    def test_messages_are_escaped(self):
        for arguments in ["send", "a\033[2J", "y"], ["no\033[2J"], \
                ["trace", "show", "/none\033[2J\u009b"], \
                ["recv", "--count", "\033[2J", "x"]:
            with self.subTest(arguments):
                result = self.run_cay(*arguments)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(rb"\x1b[2J", result.stderr)
                self.assertEqual(re.sub(rb"[\n -~]", b"", result.stderr), b"")


if __name__ == "__main__":
    test_cli.main(__doc__)
