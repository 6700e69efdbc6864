#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of cay sim: reports, files, errors, signals, its manual page.

usage: test_sim.py CAY MANUAL [TEST...]

MANUAL is cay-sim.1, whose examples are run.
"""
import csv
import io
import itertools
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree

CAY = ""
MANUAL = ""
TIMEOUT = 120  # seconds; a run takes a few on an idle machine
SVG = "{http://www.w3.org/2000/svg}"
# Small and quick: the results are checked elsewhere.
SMALL = ["torus", "--dims", "4x4", "--precision", "0.05"]


class SimTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def write(self, name, text):
        pathlib.Path(self.path(name)).write_text(text)
        return self.path(name)

    def run_sim(self, *arguments, data=None):
        return subprocess.run(
            [CAY, "sim", *arguments], input=data, capture_output=True,
            text=True, timeout=TIMEOUT, cwd=self.directory.name)

    def sim(self, *arguments, status=0, data=None):
        """Runs to this exit status. Returns standard output."""
        result = self.run_sim(*arguments, data=data)
        self.assertEqual(result.returncode, status,
                         result.stderr + result.stdout)
        if status == 0:
            self.assertEqual(result.stderr, "")
        return result.stdout

    def json(self, *arguments, **options):
        return json.loads(self.sim(*arguments, "--json", **options))

    def files(self):
        return sorted(os.listdir(self.directory.name))


class Study(SimTest):
    def test_json(self):
        found = self.json(*SMALL, "--load", "0.2", "--seed", "7")
        self.assertEqual(found["topology"], "torus")
        self.assertEqual(found["dims"], "4x4")
        self.assertEqual(found["nodes"], 16)
        self.assertEqual(found["router"], "extoll")
        self.assertEqual(found["traffic"], "uniform")
        self.assertEqual(found["verdict"], "steady")
        self.assertEqual(found["seed"], 7)
        self.assertEqual(found["threads"], 1)
        self.assertIs(found["saturated"], False)
        self.assertIs(found["deadlocked"], False)
        self.assertAlmostEqual(found["load"], 0.2)
        self.assertAlmostEqual(found["accepted_load"], 0.2, delta=0.02)
        self.assertAlmostEqual(found["offered_load"], 0.2, delta=0.02)
        self.assertGreater(found["packet_latency"],
                           found["network_latency"] - 1e-6)
        self.assertGreater(found["packet_latency_error"], 0)
        latency = found["latency"]
        ordered = [latency[k] for k in ("min", "p50", "p90", "p99", "p999",
                                        "max")]
        self.assertEqual(ordered, sorted(ordered))
        for key in "packets", "cycles", "warm_up_cycles", "flit_hops":
            self.assertGreater(found[key], 0, key)
        self.assertGreaterEqual(found["channel_load"]["max"],
                                found["channel_load"]["mean"])
        self.assertGreater(found["counters"]["packets_delivered"], 0)
        self.assertIn("node_cycles_per_second", found)
        self.assertIn("flit_hops_per_second", found)
        self.assertGreaterEqual(found["seconds"], 0)

    def test_text(self):
        out = self.sim(*SMALL)
        self.assertIn("torus 4x4, extoll, dimension-order, uniform", out)
        self.assertIn("steady", out)
        self.assertRegex(out, r"latency +[\d.]+ \+- [\d.]+ cycles = [\d.]+ ns")
        self.assertNotIn(" ns", self.sim(*SMALL, "--router", "iq4"))
        self.assertNotIn("\033", out)

    def test_seeds_and_threads(self):
        def known(*more):
            found = self.json(*SMALL, "--load", "0.3", *more)
            for key in ("seconds", "node_cycles_per_second",
                        "flit_hops_per_second", "threads", "seed"):
                del found[key]
            return found

        first = known("--seed", "5")
        self.assertEqual(first, known("--seed", "5"))
        self.assertEqual(first, known("--seed", "5", "--threads", "2"))
        self.assertNotEqual(first, known("--seed", "6"))

    def test_every_topology(self):
        for name, nodes in (("torus", 512), ("mesh", 64), ("ring", 16),
                            ("hypercube", 64), ("full", 7)):
            found = self.json(name, "--precision", "0.1", "--load", "0.05")
            self.assertEqual(found["nodes"], nodes)
            self.assertEqual(found["topology"], name)

    def test_options_change_the_router(self):
        found = self.json(
            *SMALL, "--vcs", "4", "--buffer", "16", "--arbiter", "first-come",
            "--switching", "wormhole", "--groups", "fixed", "--tag-bits", "8",
            "--router", "iq4")
        self.assertEqual(found["router"], "iq4")
        parameters = found["router_parameters"]
        self.assertEqual(parameters["virtual_channels"], 4)
        self.assertEqual(parameters["buffer_flits"], 16)
        self.assertEqual(parameters["arbiter"], "first-come")
        self.assertEqual(parameters["switching"], "wormhole")
        self.assertEqual(parameters["groups"], "fixed")
        self.assertEqual(parameters["tag_bits"], 8)
        slow = self.json(*SMALL, "--router", "iq4", "--link-delay", "12")
        self.assertGreater(slow["packet_latency"],
                           found["packet_latency"] + 8)

    def test_saturation_is_not_an_error(self):
        arguments = ["mesh", "--dims", "8x8", "--load", "0.9", "--router",
                     "iq4"]
        found = self.json(*arguments)
        self.assertEqual(found["verdict"], "saturated")
        self.assertIs(found["saturated"], True)
        self.assertLess(found["accepted_load"], 0.85)
        out = self.sim(*arguments)
        self.assertIn("saturated", out)
        self.assertIn("--saturation", out)

    def test_unsettled(self):
        found = self.json(*SMALL, "--max-cycles", "200", "--precision",
                          "0.0001")
        self.assertEqual(found["verdict"], "unsettled")

    def test_a_network_that_fills_is_not_saturated(self):
        for cycles in "1", "10", "100":
            found = self.json("mesh", "--dims", "8x8", "--load", "0.1",
                              "--max-cycles", cycles)
            self.assertEqual(found["verdict"], "unsettled")
            # Measured packets have arrived.
            self.assertGreater(found["packets"], 50)

    def test_deadlock(self):
        arguments = ["torus", "--dims", "8", "--groups", "plain", "--vcs",
                     "1", "--buffer", "4", "--switching", "wormhole",
                     "--length", "32", "--load", "0.9", "--traffic",
                     "tornado"]
        found = self.json(*arguments, status=1)
        self.assertEqual(found["verdict"], "deadlocked")
        self.assertIs(found["deadlocked"], True)
        cycle = found["deadlock_cycle"]
        self.assertGreater(len(cycle), 1)
        for one, other in zip(cycle, cycle[1:] + cycle[:1]):
            self.assertEqual(one["to"], other["node"])
        out = self.sim(*arguments, status=1)
        self.assertIn("deadlocked", out)
        self.assertIn(f"A cycle of {len(cycle)} channels", out)

    def test_links(self):
        found = self.json(*SMALL, "--links")
        self.assertEqual(len(found["links"]), 64)
        for link in found["links"]:
            self.assertLess(link["to"], 16)
            self.assertIs(link["dead"], False)
        self.assertEqual(sum(link["flits"] for link in found["links"]),
                         found["counters"]["flit_hops"])
        self.assertRegex(self.sim(*SMALL, "--links"),
                         r"\n +from +port +to +flits")

    def test_lengths_and_patterns(self):
        for traffic in ("uniform", "neighbour", "tornado", "transpose",
                        "complement", "reverse"):
            found = self.json(*SMALL, "--traffic", traffic, "--length",
                              "1:3,8:1")
            self.assertEqual(found["traffic"], traffic)
            self.assertEqual(found["length"], "1:3,8:1")
        found = self.json(*SMALL, "--hot-spot", "3:0.2")
        self.assertEqual(found["traffic"], "hot-spot")

    def test_small_loads_keep_their_digits(self):
        arguments = [*SMALL, "--load", "1e-9", "--max-cycles", "1000"]
        self.assertAlmostEqual(self.json(*arguments)["load"] * 1e9, 1)
        self.assertIn("offered load   1e-09 ", self.sim(*arguments))
        row = next(csv.DictReader(io.StringIO(
            self.sim(*arguments, "--csv", "-"))))
        self.assertAlmostEqual(float(row["load"]) * 1e9, 1)
        self.assertEqual(row["p99"], "")

    def test_accepted_load_from_counters(self):
        out = self.sim(*SMALL, "--load", "0.2")
        packets, cycles = map(int, re.search(
            r"measured +(\d+) packets in (\d+) cycles after \d+ to warm up",
            out).groups())
        self.assertAlmostEqual(packets / cycles / 16, 0.2, delta=0.02)

    def test_threads_are_limited(self):
        cores = len(os.sched_getaffinity(0))
        found = self.json(*SMALL, "--threads", "64")
        self.assertEqual(found["threads"], min(cores, 2))
        found = self.json("full", "--precision", "0.1", "--threads", "2")
        self.assertEqual(found["threads"], 1)

    def test_to_self(self):
        self.assertIs(self.json(*SMALL)["to_self"], False)
        self.assertIs(self.json(*SMALL, "--router", "iq4")["to_self"], True)

    def test_no_packet_crosses_a_link(self):
        out = self.sim("torus", "--dims", "2x2", "--traffic", "tornado")
        self.assertIn("no packet crosses a link", out)
        self.assertNotIn("no packet crosses a link", self.sim(*SMALL))

    def test_singular(self):
        out = self.sim(*SMALL, "--buffer", "1")
        self.assertIn("of 1 flit,", out)
        out = self.sim("full", "--dims", "2", "--route", "0:1")
        self.assertIn("there: 1 hop\n", out)

    def test_graph_from_standard_input(self):
        found = self.json("graph", "--graph", "-", "--precision", "0.1",
                          data="nodes 4\n0 1\n1 2\n2 3\n3 0\n0 2\n")
        self.assertEqual(found["nodes"], 4)
        self.assertEqual(found["routing"], "minimal")


    def test_routers_with_several_hosts_and_none(self):
        found = self.json("fat-tree", "--dims", "2x3", "--router", "iq4",
                          "--precision", "0.1")
        self.assertEqual((found["nodes"], found["hosts"]), (12, 8))
        self.assertEqual(found["routing"], "minimal")
        self.assertEqual(found["verdict"], "steady")
        found = self.json("dragonfly", "--router", "iq4", "--precision",
                          "0.1")
        self.assertEqual((found["nodes"], found["hosts"]), (36, 72))
        found = self.json("mesh", "--dims", "3x3", "--hosts", "2",
                          "--router", "iq4", "--precision", "0.1")
        self.assertEqual(found["hosts"], 18)
        self.assertIn("18 hosts at 9 nodes", self.sim(
            "mesh", "--dims", "3x3", "--hosts", "2", "--router", "iq4"))
        result = self.run_sim("fat-tree", "--router", "iq4", "--barriers",
                              "1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("one host per node", result.stderr)

    def test_routing_functions(self):
        for arguments in (["mesh", "--routing", "o1turn"],
                          ["torus", "--dims", "4x4", "--routing", "valiant"],
                          ["hyperx", "--routing", "minimal"],
                          ["torus", "--dims", "2x2x2x2x2x2"]):
            more = ["--router", "iq4", "--precision", "0.1"]
            self.assertEqual(self.json(*arguments, *more)["verdict"],
                             "steady")
            self.assertIn("free of deadlock",
                          self.sim(*arguments, "--router", "iq4", "--check"))

    def test_links_of_graphs(self):
        def latency(more):
            return self.json("graph", "--graph", "-", "--router", "iq4",
                             "--load", "0.01", "--precision", "0.1",
                             data=f"nodes 2\n0 1{more}\n")["latency"]["max"]

        self.assertGreater(latency(" delay 200"), latency("") + 190)


class Faults(SimTest):
    def test_dead_links_and_nodes(self):
        found = self.json(*SMALL, "--fail", "link:5:0@500", "--fail",
                          "node:9@800", "--links")
        dead = [link for link in found["links"] if link["dead"]]
        # A link has two directions, a node four links.
        self.assertEqual(len(dead), 2 + 8)
        counters = found["counters"]
        self.assertGreater(counters["packets_reported"], 0)
        self.assertGreater(counters["interrupts"], 0)

    def test_every_packet_is_accounted_for(self):
        trace = self.write("packets", "".join(
            f"{i} {i % 16} {(i + 5) % 16} 4\n" for i in range(200)))
        for more in (
                ["--load", "0.3"], ["--load", "1"],
                ["--load", "0.3", "--fail", "node:9@800"],
                ["--load", "0.1", "--error-rate", "0.5"],
                ["--trace", trace, "--max-cycles", "150"],
                ["--trace", trace, "--fail", "link:5:0@50"]):
            counters = self.json("torus", "--dims", "4x4", *more)["counters"]
            self.assertEqual(
                counters["packets_sent"],
                counters["packets_delivered"] + counters["packets_reported"]
                + counters["packets_in_flight"], more)

    def test_links_that_fail_are_not_saturation(self):
        arguments = ["torus", "--dims", "4x4", "--load", "0.1",
                     "--error-rate", "0.4"]
        found = self.json(*arguments)
        self.assertEqual(found["verdict"], "links-failed")
        self.assertIs(found["saturated"], False)
        self.assertGreater(found["counters"]["links_failed"], 0)
        out = self.sim(*arguments)
        self.assertIn("Try a lower --error-rate", out)
        self.assertNotIn("--load", out)
        # A link that an option breaks is not one of these.
        found = self.json(*SMALL, "--fail", "link:5:0@500")
        self.assertEqual(found["counters"]["links_failed"], 0)

    def test_host_delay(self):
        def longest(*more):
            found = self.json(*SMALL, "--fail", "link:5:0@500", *more)
            self.assertGreater(found["counters"]["forwarded"], 0)
            return (found["latency"]["max"],
                    found["router_parameters"]["host_delay"])

        self.assertEqual(longest()[1], 100)
        slow, delay = longest("--host-delay", "800")
        self.assertEqual(delay, 800)
        self.assertGreater(slow, 800)
        quick, delay = longest("--host-delay", "0")
        self.assertEqual(delay, 0)
        self.assertLess(quick, longest()[0])

    def test_random_links_follow_the_seed(self):
        def dead(seed):
            found = self.json(*SMALL, "--fail-random", "links:3@400",
                              "--links", "--seed", seed)
            return [(link["from"], link["port"]) for link in found["links"]
                    if link["dead"]]

        self.assertEqual(len(dead("1")), 6)
        self.assertEqual(dead("1"), dead("1"))
        self.assertTrue(any(dead("1") != dead(str(s)) for s in range(2, 6)))

    def test_bit_errors_are_retransmitted(self):
        found = self.json(*SMALL, "--error-rate", "0.01")
        self.assertGreater(found["counters"]["flits_repeated"], 0)
        self.assertEqual(found["counters"]["packets_reported"], 0)

    def test_no_packet_can_be_delivered(self):
        short = ["--max-cycles", "5000"]
        out = self.sim("graph", "--graph", "-", *short, data="nodes 4\n")
        self.assertIn("no packet can be delivered: there is no link\n", out)
        self.assertRegex(out, r"warning: (\d+) of \1 packets")
        for when in "0", "1000":
            out = self.sim(*SMALL, *short, "--fail-random",
                           f"nodes:16@{when}")
            self.assertIn("no packet can be delivered: there is no link "
                          "left\n",
                          out)
            self.assertNotIn("--precision", out)
        out = self.sim("graph", "--graph", "-", "--loads", "0.1,0.2", *short,
                       data="nodes 4\n")
        self.assertIn("no packet can be delivered", out)
        self.assertNotIn("lower", out)

    def test_partitioned_graph(self):
        out = self.sim("graph", "--graph", "-", "--precision", "0.1",
                       data="nodes 4\n0 1\n2 3\n")
        self.assertRegex("\n".join(out.splitlines()[:4]),
                         r"warning: \d+ of \d+ packets could not be")
        self.assertNotIn("warning", self.sim(*SMALL))

    def test_fault_after_the_end(self):
        out = self.sim(*SMALL, "--fail", "link:0:0@4000000000")
        self.assertIn("ended before the fault at 4000000000", out)


class Sweep(SimTest):
    def test_points(self):
        found = self.json(*SMALL, "--loads", "0.1:0.3:0.1")
        self.assertEqual([p["load"] for p in found["points"]],
                         [0.1, 0.2, 0.3])
        self.assertIsNone(found["saturation"])
        for point in found["points"]:
            self.assertEqual(point["verdict"], "steady")
        latencies = [p["packet_latency"] for p in found["points"]]
        self.assertGreater(latencies[2], latencies[0])

    def test_sweep_ends_after_saturation(self):
        arguments = ["mesh", "--dims", "8x8", "--router", "iq4",
                     "--precision", "0.05", "--loads",
                     "0.1,0.2,0.8,0.9,0.95,1"]
        found = self.json(*arguments)
        verdicts = [p["verdict"] for p in found["points"]]
        self.assertEqual(verdicts[:2], ["steady"] * 2)
        self.assertEqual(len(verdicts), 4)
        self.assertEqual(found["saturation"], 0.2)
        self.assertEqual(found["saturated_at"], 0.8)
        out = self.sim(*arguments)
        self.assertIn("steady up to 0.2, no longer at 0.8", out)
        self.assertEqual(len(re.findall(r"^ +0\.\d+ .*(?:steady|saturated)$",
                                        out, re.M)), 4)

    def test_saturation(self):
        found = self.json("mesh", "--dims", "4x4", "--router", "iq4",
                          "--precision", "0.05", "--saturation")
        self.assertLess(found["saturation"], found["saturated_at"])
        self.assertLess(found["saturated_at"] - found["saturation"],
                        0.011 * found["saturated_at"])
        loads = [p["load"] for p in found["points"]]
        self.assertEqual(loads, sorted(loads))
        # Half of all packets cross the middle, over four of its channels.
        self.assertLess(found["saturation"], 1.0)
        self.assertGreater(found["saturation"], 0.3)

    def test_csv(self):
        out = self.sim(*SMALL, "--loads", "0.1,0.2", "--csv", "-")
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([float(row["load"]) for row in rows], [0.1, 0.2])
        for row in rows:
            self.assertNotIn(None, row)
            self.assertNotIn(None, row.values())
            self.assertEqual(row["verdict"], "steady")
            self.assertGreater(float(row["packet_latency"]), 0)

    def test_svg(self):
        out = self.sim(*SMALL, "--loads", "0.1:0.3:0.1", "--svg", "a.svg")
        self.assertIn("verdict", out)
        root = ElementTree.parse(self.path("a.svg")).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        self.assertEqual(len(root.findall(f".//{SVG}polyline")), 3)
        self.assertIn("torus 4x4", root.find(SVG + "title").text)
        self.assertEqual(self.files(), ["a.svg"])


class Plots(SimTest):
    def wedges(self, *arguments):
        out = self.sim(*arguments, "--precision", "0.1", "--heat", "-")
        return len(ElementTree.fromstring(out).findall(f".//{SVG}polygon"))

    def test_heat(self):
        self.assertEqual(self.wedges("torus", "--dims", "3x4x2"), 24 * 6)
        self.assertEqual(self.wedges("mesh", "--dims", "3x3"), 24)
        self.assertEqual(self.wedges("ring"), 32)
        self.assertEqual(self.wedges("hypercube", "--dims", "3"), 24)
        self.assertEqual(self.wedges("full"), 42)

    def test_timeline(self):
        self.sim(*SMALL, "--timeline", "t.json", "--packets", "9",
                 "--length", "4")
        with open(self.path("t.json")) as f:
            events = json.load(f)["traceEvents"]
        names = {e["args"]["name"] for e in events
                 if e["name"] == "thread_name" and e["pid"] == 1}
        self.assertEqual(len(names), 9)
        whole = {e["tid"]: e for e in events
                 if e["ph"] == "X" and e["pid"] == 1 and "args" in e}
        self.assertEqual(len(whole), 9)
        for e in events:
            if e["ph"] == "X" and e["pid"] == 1:
                outer = whole[e["tid"]]
                self.assertGreaterEqual(e["ts"], outer["ts"])
                self.assertLessEqual(e["ts"] + e["dur"],
                                     outer["ts"] + outer["dur"])
        hops = sum(e["args"]["hops"] for e in whole.values())
        links = [e for e in events if e["ph"] == "X" and e["pid"] == 2]
        self.assertEqual(len(links), hops)
        self.check_tracks(links)

    def check_tracks(self, slices):
        """No two slices of a track overlap."""
        end = {}
        for e in sorted(slices, key=lambda e: e["ts"]):
            self.assertGreaterEqual(e["ts"], end.get(e["tid"], 0))
            end[e["tid"]] = e["ts"] + e["dur"]


class Replay(SimTest):
    TRACE = "# time from to length\n0 0 1 4\n0 1 2 4\n\n50 3 12 16\n"

    def test_json(self):
        trace = self.write("t", self.TRACE)
        found = self.json("torus", "--dims", "4x4", "--trace", trace)
        self.assertEqual(found["traffic"], "trace")
        self.assertEqual(found["packets"], 3)
        self.assertEqual(found["counters"]["packets_sent"], 3)
        self.assertEqual(found["counters"]["packets_delivered"], 3)
        self.assertAlmostEqual(found["hops"], 4 / 3, places=3)
        self.assertEqual(found["flit_hops"], 4 + 4 + 2 * 16)
        self.assertLess(found["latency"]["min"], found["latency"]["max"])

    def test_run_ends_with_the_last_packet(self):
        found = self.json("torus", "--dims", "4x4", "--trace", "-",
                          "--links", data="0 0 1 4\n")
        self.assertEqual(found["cycles"], found["latency"]["max"])
        self.assertAlmostEqual(found["accepted_load"],
                               4 / 16 / found["cycles"], places=6)
        load = max(link["load"] for link in found["links"])
        self.assertAlmostEqual(load, 4 / found["cycles"], places=6)
        late = self.json("torus", "--dims", "4x4", "--trace", "-",
                         data="0 0 1 4\n90000000000 0 1 4\n")
        self.assertEqual(late["cycles"], 90000000000 + found["cycles"])

    def test_max_cycles(self):
        arguments = ["torus", "--dims", "4x4", "--trace", "-",
                     "--max-cycles"]
        trace = "0 0 1 4\n1500 0 1 4\n"
        found = self.json(*arguments, "1000", data=trace)
        self.assertEqual(found["verdict"], "unsettled")
        self.assertEqual(found["cycles"], 1000)
        self.assertEqual(found["packets"], 1)
        self.assertIn("not all packets have arrived",
                      self.sim(*arguments, "1510", data=trace))
        found = self.json(*arguments, "10", data=trace)
        self.assertEqual(found["cycles"], 10)
        self.assertIsNone(found["latency"]["p50"])
        found = self.json(*arguments, "2000", data=trace)
        self.assertEqual(found["verdict"], "steady")

    def test_many_packets_at_once(self):
        lines = [f"0 {i % 16} {i * 7 % 16} 4\n" for i in range(3000)]
        found = self.json("torus", "--dims", "4x4", "--trace", "-",
                          data="".join(lines))
        self.assertEqual(found["packets"], 3000)
        self.assertEqual(found["cycles"], found["latency"]["max"])

    def test_text_and_standard_input(self):
        out = self.sim("torus", "--dims", "4x4", "--trace", "-",
                       data=self.TRACE)
        self.assertIn("all packets have arrived", out)

    def test_timeline(self):
        trace = self.write("t", self.TRACE)
        out = self.sim("torus", "--dims", "4x4", "--trace", trace,
                       "--timeline", "-", "--packets", "2")
        events = json.loads(out)["traceEvents"]
        self.assertEqual(sum(e["ph"] == "X" and "args" in e for e in events),
                         2)

    def test_wrong_files(self):
        for text, message in (("0 0 99 1\n", ":1:"), ("x\n", ":1:"),
                              ("", "no packets"),
                              ("0 0 1 1000\n", "--buffer")):
            trace = self.write("t", text)
            result = self.run_sim("torus", "--dims", "4x4", "--trace", trace)
            self.assertEqual(result.returncode, 1, text)
            self.assertIn(message, result.stderr)
            self.assertEqual(result.stdout, "")
        result = self.run_sim("torus", "--trace", self.path("none"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("No such file", result.stderr)


class Input(SimTest):
    def input_errors(self, path):
        for arguments in (["graph", "--graph"], ["torus", "--trace"]):
            result = self.run_sim(*arguments, path)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, "")
            yield result.stderr

    def test_directory_as_input(self):
        for message in self.input_errors("."):
            self.assertIn(".: Is a directory", message)

    def test_fifo_without_a_writer(self):
        os.mkfifo(self.path("fifo"))
        for message in self.input_errors("fifo"):
            self.assertIn("without a writer", message)

    def test_fifo_with_a_writer(self):
        os.mkfifo(self.path("fifo"))
        process = subprocess.Popen(
            [CAY, "sim", "graph", "--graph", "fifo", "--metrics"], text=True,
            stdout=subprocess.PIPE, cwd=self.directory.name)
        with open(self.path("fifo"), "w") as fifo:
            fifo.write("nodes 2\n0 1\n")
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertIn("diameter", out)

    def test_endless_input(self):
        for message in self.input_errors("/dev/zero"):
            self.assertIn("/dev/zero", message)


class Barriers(SimTest):
    def test_barriers(self):
        found = self.json("torus", "--dims", "4x4", "--barriers", "20")
        self.assertEqual(found["barriers"], 20)
        self.assertGreater(found["whole"]["mean"], found["release"]["mean"])
        self.assertGreater(found["collect"]["min"], 0)
        # One up and one down for each node but the root.
        self.assertEqual(found["messages"], 20 * 2 * 15)
        out = self.sim("torus", "--dims", "4x4", "--barriers", "3")
        self.assertIn("3 barriers of 16 nodes", out)

    def test_a_failure_restarts_a_round(self):
        intact = self.json("torus", "--dims", "4x4", "--barriers", "3")
        self.assertEqual(intact["restarts"], 0)
        for when in range(5, 100, 5):
            arguments = ["torus", "--dims", "4x4", "--barriers", "3",
                         "--fail", f"link:0:0@{when}"]
            found = self.json(*arguments)
            self.assertEqual(found["barriers"], 3)
            self.assertEqual(found["restarts"], 1)
            for part in "collect", "release", "whole":
                # The tree of the network with a dead link may be deeper.
                self.assertLess(found[part]["max"],
                                2 * intact["whole"]["max"])
                self.assertGreater(found[part]["min"], 0)
        self.assertIn("ended 1 round", self.sim(*arguments))

    def test_dead_nodes_cannot_take_part(self):
        result = self.run_sim("torus", "--dims", "4x4", "--barriers", "3",
                              "--fail", "node:3@30")
        self.assertEqual(result.returncode, 1)
        self.assertIn("not all nodes can be reached", result.stderr)


class Routes(SimTest):
    def test_check(self):
        free = [["torus"], ["torus", "--router", "iq4"], ["mesh"],
                ["hypercube"], ["full"], ["ring"],
                ["torus", "--dims", "4x4", "--routing", "up-down",
                 "--groups", "plain"]]
        for arguments in free:
            self.assertIn("free of deadlock: ",
                          self.sim(*arguments, "--check"))
        bound = [["torus", "--dims", "4x4"], ["ring", "--dims", "5"],
                 ["torus", "--dims", "4x4", "--router", "iq4"]]
        for arguments in bound:
            out = self.sim(*arguments, "--check", "--groups", "plain",
                           status=1)
            self.assertIn("not free of deadlock", out)
            found = self.json(*arguments, "--check", "--groups", "plain",
                              status=1)
            self.assertIs(found["deadlock_free"], False)
            cycle = found["cycle"]
            for one, other in zip(cycle, cycle[1:] + cycle[:1]):
                self.assertEqual(one["to"], other["node"])

    @staticmethod
    def leg(kind, groups, size, a, b, falls):
        """Hops in one dimension: (direction, group) each."""
        if kind == "mesh":
            return [(int(b < a), 0)] * abs(b - a)
        up, down = (b - a) % size, (a - b) % size
        rises = up < down or (up == down and not falls)
        hops = up if rises else down
        line = size - a if rises else a + 1  # hops until it is crossed
        low = {"plain": hops, "dated": min(hops, line),
               "fixed": 0 if hops >= line else hops}[groups]
        return [(int(not rises), int(i >= low)) for i in range(hops)]

    def channels(self, kind, groups, sizes, pair, falls):
        """The channels of a route: (node, port, group) each."""
        digits = [[], []]
        for number, to in zip(pair, digits):
            for size in sizes:
                to.append(number % size)
                number //= size
        at, target = digits
        channels = []
        for d, size in enumerate(sizes):
            for down, group in self.leg(kind, groups, size, at[d],
                                        target[d], falls >> d & 1):
                node = 0
                for one, digit in zip(reversed(sizes), reversed(at)):
                    node = node * one + digit
                channels.append((node, 2 * d + down, group))
                at[d] = (at[d] + (-1 if down else 1)) % size
        return channels

    def dependencies(self, router, kind, groups, sizes):
        """Channel dependencies, from the routes of all pairs."""
        nodes = 1
        for size in sizes:
            nodes *= size
        dependencies = {}
        for pair in ((a, b) for a in range(nodes) for b in range(nodes)):
            mixed = (pair[0] << 32 | pair[1]) * 0x9e3779b97f4a7c15
            ties = range(1 << len(sizes)) if router == "iq4" \
                else [mixed % 2**64 >> 61]
            for falls in ties:
                route = self.channels(kind, groups, sizes, pair, falls)
                for one, other in zip(route, route[1:]):
                    dependencies.setdefault(one, set()).add(other)
        return dependencies

    @staticmethod
    def is_free(edges):
        """Removes channels without dependencies until none is left."""
        edges = {one: set(others) for one, others in edges.items()}
        while edges:
            rest = {one: {o for o in others if o in edges}
                    for one, others in edges.items()}
            rest = {one: others for one, others in rest.items() if others}
            if len(rest) == len(edges):
                return False
            edges = rest
        return True

    def test_check_agrees_with_all_pairs(self):
        free = set()
        for router in "extoll", "iq4":
            for kind, groups, dims in itertools.product(
                    ("torus", "mesh"), ("plain", "dated", "fixed"),
                    ("2", "3", "4", "7", "2x3", "3x3", "4x2", "4x4",
                     "2x2x3", "5x4")):
                sizes = [int(size) for size in dims.split("x")]
                edges = self.dependencies(router, kind, groups, sizes)
                found = json.loads(self.run_sim(
                    kind, "--dims", dims, "--router", router, "--groups",
                    groups, "--check", "--json").stdout)
                case = router, kind, groups, dims
                self.assertEqual(found["deadlock_free"], self.is_free(edges),
                                 case)
                free.add(found["deadlock_free"])
                cycle = [(c["node"], c["port"], c["class"])
                         for c in found["cycle"]]
                for one, other in zip(cycle, cycle[1:] + cycle[:1]):
                    self.assertIn(other, edges[one], case)
        self.assertEqual(free, {True, False})

    def test_check_of_a_large_torus(self):
        begin = time.monotonic()
        self.sim("torus", "--dims", "200x200", "--check")
        self.sim("mesh", "--dims", "200x200", "--check")
        self.sim("hypercube", "--dims", "15", "--router", "iq4", "--check")
        self.sim("torus", "--dims", "200x200", "--check", "--groups",
                 "plain", status=1)
        self.assertLess(time.monotonic() - begin, TIMEOUT / 4)

    def test_route(self):
        found = self.json("torus", "--dims", "4x4x4", "--route", "0:63")
        self.assertEqual(found["hops"], 3)
        self.assertEqual([hop["port"] for hop in found["there"]], [1, 3, 5])
        self.assertEqual([hop["port"] for hop in found["back"]], [0, 2, 4])
        node = 0
        for hop in found["there"]:
            self.assertEqual(hop["node"], node)
            node = hop["to"]
        self.assertEqual(node, 63)
        string = found["routing_string"]
        self.assertEqual(string["tag"], 63)
        self.assertEqual(string["phits"][:4],
                         [1 | 1 << 4, 3 | 1 << 4, 5 | 1 << 4, 15 | 1 << 4])
        self.assertEqual(string["phits"][-1], 15)
        out = self.sim("torus", "--dims", "4x4x4", "--route", "0:63")
        self.assertIn("there: 3 hops", out)
        self.assertIn("tag 0x003f, phits 0x0011 0x0013 0x0015 0x001f", out)

    def test_routes_without_a_string(self):
        found = self.json("full", "--dims", "9", "--route", "0:8")
        self.assertIsNone(found["routing_string"])
        result = self.run_sim("graph", "--graph", "-", "--route", "0:1",
                              data="nodes 2\n")
        self.assertEqual(result.returncode, 1)

    def test_metrics(self):
        found = self.json("torus", "--dims", "8x8x8", "--metrics")
        self.assertEqual(found["diameter"], 12)
        self.assertEqual(found["links"], 3 * 512)
        self.assertAlmostEqual(found["mean_distance"], 6)
        self.assertAlmostEqual(found["uniform_load_bound"], 1)
        self.assertRegex(self.sim("ring", "--metrics"),
                         r"diameter +8 hops")


class Files(SimTest):
    def test_old_file_stays_until_the_end(self):
        self.write("a.csv", "before")
        os.symlink("a.csv", self.path("link"))
        self.sim(*SMALL, "--csv", "link")
        self.assertTrue(os.path.islink(self.path("link")))
        with open(self.path("a.csv")) as f:
            self.assertTrue(f.read().startswith("load,"))
        self.assertEqual(self.files(), ["a.csv", "link"])

    def test_unwritable_file_fails_at_once(self):
        begin = time.monotonic()
        result = self.run_sim("torus", "--loads", "0.1:1:0.001",
                              "--precision", "0.0001", "--svg",
                              "none/a.svg")
        self.assertLess(time.monotonic() - begin, TIMEOUT / 2)
        self.assertEqual(result.returncode, 1)
        self.assertIn("--svg none/a.svg: No such file", result.stderr)
        self.assertEqual(self.files(), [])

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        result = self.run_sim(*SMALL, "--csv", "/dev/full")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--csv /dev/full", result.stderr)
        with open("/dev/full", "w") as full:
            status = subprocess.run([CAY, "sim", *SMALL], stdout=full,
                                    stderr=subprocess.DEVNULL,
                                    timeout=TIMEOUT).returncode
        self.assertEqual(status, 1)

    def outputs(self, stdout):
        """Results of runs that write text, JSON, long output, a file."""
        for more in ([], ["--json"], ["--json", "--links"], ["--csv", "-"],
                     ["--heat", "-"]):
            with self.subTest(more=more):
                yield subprocess.run(
                    [CAY, "sim", *SMALL, *more], stdout=stdout,
                    stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)

    def test_full_disk_prints_one_message(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            for result in self.outputs(full):
                self.assertEqual(result.returncode, 1)
                self.assertIn("standard output: No space left",
                              result.stderr)

    def test_closed_pipe_is_not_an_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        for result in self.outputs(writer):
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_two_outputs_in_one_file(self):
        self.write("there", "before")
        os.symlink("there", self.path("link"))
        for one, other in (("new", "new"), ("new", "./new"),
                           ("there", "link")):
            result = self.run_sim(*SMALL, "--csv", one, "--heat", other)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"--csv {one} and --heat {other} name the same",
                          result.stderr)
        self.assertEqual(self.files(), ["link", "there"])
        self.sim(*SMALL, "--csv", "/dev/null", "--heat", "/dev/null")

    def test_failure_leaves_no_files(self):
        result = self.run_sim("torus", "--trace", "none", "--csv", "a.csv")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(self.files(), [])


class Usage(SimTest):
    WRONG = [
        ([], "missing TOPOLOGY: torus, mesh"),
        (["cube"], "'cube': must be torus"),
        (["torus", "mesh"], "unexpected argument 'mesh'"),
        (["torus", "--dims", "8x"], "must be sizes"),
        (["torus", "--dims", "2x2x2x2x2x2x2"], "must be sizes"),
        (["torus", "--dims", "8x1"], "--dims 8x1: each must be 2 or more"),
        (["torus", "--dims", "4096x4096"], "too large"),
        (["ring", "--dims", "4x4"], "one number"),
        (["full", "--dims", "100"], "too large"),
        (["hypercube", "--dims", "7"], "--router iq4"),
        (["fat-tree", "--dims", "4"], "2 numbers: ports down"),
        (["fat-tree", "--hosts", "2"], "has hosts of its own"),
        (["mesh", "--dims", "3x3x3", "--routing", "o1turn", "--check"],
         "needs two dimensions"),
        (["torus", "--router", "cisco"], "extoll, atoll or iq4"),
        (["torus", "--router", "atoll"], "has 4 links"),
        (["torus", "--vcs", "0"], "1 to 16"),
        (["torus", "--vcs", "1"], "two groups need two"),
        (["torus", "--buffer", "x"], "1 to 4096"),
        (["torus", "--arbiter", "dice"], "round-robin"),
        (["torus", "--switching", "packet"], "wormhole or cut-through"),
        (["torus", "--groups", "many"], "plain, dated or fixed"),
        (["torus", "--link-delay", "0"], "1 to 1000"),
        (["torus", "--tag-bits", "17"], "1 to 16"),
        (["torus", "--routing", "west-first"], "dimension-order"),
        (["torus", "--load", "0"], "above 0"),
        (["torus", "--load", "-0.1"], "above 0"),
        (["torus", "--load", "nan"], "above 0"),
        (["torus", "--load", "0.1x"], "above 0"),
        (["torus", "--load", "1.5"], "longer --length"),
        (["torus", "--loads", "0.2,0.1"], "rising"),
        (["torus", "--loads", "0.1:0.5"], "FROM:TO:STEP"),
        (["torus", "--loads", "0.1:0.5:0"], "FROM:TO:STEP"),
        (["torus", "--loads", "0.1:4:0.0001"], "1000"),
        (["torus", "--traffic", "rush"], "uniform, neighbour"),
        (["torus", "--traffic", "hot-spot"], "--hot-spot NODE:SHARE"),
        (["torus", "--dims", "3x5", "--traffic", "reverse"], "power of two"),
        (["torus", "--hot-spot", "1"], "NODE:SHARE"),
        (["torus", "--hot-spot", "1:2"], "NODE:SHARE"),
        (["torus", "--hot-spot", "1:0"], "above 0 and at most 1"),
        (["torus", "--hot-spot", "600:0.1"], "not a node"),
        (["torus", "--hot-spot", "1:0.1", "--traffic", "tornado"],
         "not with"),
        (["torus", "--traffic", "tornado", "--hot-spot", "1:0.1"],
         "not with"),
        (["torus", "--length", "0"], "flits such as"),
        (["torus", "--length", "100"], "--buffer 100"),
        (["torus", "--threads", "65"], "1 to 64"),
        (["torus", "--precision", "1"], "0.01"),
        (["torus", "--max-cycles", "0"], "1 or more"),
        (["torus", "--error-rate", "1"], "0 to 0.5"),
        (["torus", "--host-delay", "1001"], "0 to 1000 cycles"),
        (["torus", "--seed", "x"], "a number"),
        (["torus", "--fail", "link:1@5"], "link:NODE:PORT@TIME"),
        (["torus", "--fail", "node:1"], "link:NODE:PORT@TIME"),
        (["torus", "--fail", "node:512@1"], "no node 512"),
        (["mesh", "--fail", "link:0:1@1"], "no link at port 1"),
        (["torus", "--fail-random", "ports:1@1"], "links:COUNT@TIME"),
        (["torus", "--fail-random", "links:0@1"], "the count 1 to 256"),
        (["torus", "--fail", "node:1@99999999999"],
         "the time at most 4294967295"),
        (["torus", "--dims", "4x4", "--fail-random", "links:33@1"],
         "there are 32 links"),
        (["torus", "--dims", "4x4", "--fail-random", "nodes:17@1"],
         "there are 16 nodes"),
        (["torus", "--route", "0"], "FROM:TO"),
        (["torus", "--route", "0:512"], "last node is 511"),
        (["torus", "--loads", "0.1", "--check"],
         "--loads: not with --check"),
        (["torus", "--load", "0.1", "--saturation"],
         "--load: not with --saturation"),
        (["torus", "--load", "0.1", "--trace", "x"],
         "--load: not with --trace"),
        (["torus", "--trace", "x", "--traffic", "tornado"],
         "--traffic: not with --trace"),
        (["torus", "--trace", "x", "--length", "2"],
         "--length: not with --trace"),
        (["torus", "--check", "--fail", "node:1@1"],
         "--fail: not with --check"),
        (["torus", "--fail-random", "nodes:1@1", "--metrics"],
         "--fail-random: not with --metrics"),
        (["torus", "--error-rate", "0.1", "--route", "0:1"],
         "--error-rate: not with --route"),
        (["torus", "--barriers", "1", "--max-cycles", "9"],
         "--max-cycles: not with --barriers"),
        (["torus", "--links", "--csv", "-"], "--links: not with --csv -"),
        (["torus", "--svg", "a.svg"], "needs --loads"),
        (["torus", "--loads", "0.1", "--heat", "a"],
         "--heat: not with --loads"),
        (["torus", "--packets", "5"], "needs --timeline"),
        (["torus", "--json", "--csv", "-"], "standard output"),
        (["torus", "--heat", "-", "--csv", "-"], "standard output"),
        (["graph"], "needs --graph"),
        (["torus", "--graph", "x"], "for the topology graph"),
        (["graph", "--graph", "x", "--dims", "4"], "no --dims"),
        (["graph", "--graph", "x", "--routing", "dimension-order"],
         "has no dimensions"),
        (["torus", "--nonsense"], "'--nonsense'"),
        (["torus", "--sed", "1"], "did you mean --seed?"),
        (["torus", "--lo", "1"], "ambiguous"),
        (["torus", "--json=1"], "takes no value"),
        (["torus", "-x"], "'-x'"),
        (["torus", "--load"], "'--load'"),
    ]

    def test_wrong_values(self):
        for arguments, message in self.WRONG:
            with self.subTest(arguments=arguments):
                result = self.run_sim(*arguments)
                self.assertEqual(result.returncode, 2,
                                 result.stderr + result.stdout)
                self.assertIn(message, result.stderr)
                self.assertTrue(result.stderr.startswith("cay sim: "))
                self.assertIn("try: cay sim --help", result.stderr)
                self.assertEqual(result.stdout, "")
                self.assertEqual(self.files(), [])

    def test_wrong_graphs(self):
        for text, line in (("nodes 3\n0 5\n", 2), ("0 1\n", 1)):
            result = self.run_sim("graph", "--graph", "-", data=text)
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"-:{line}:", result.stderr)
        result = self.run_sim("graph", "--graph", "none")
        self.assertEqual(result.returncode, 1)
        self.assertIn("none: No such file", result.stderr)

    def test_help(self):
        out = self.sim("--help")
        for line in out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertIn("usage: cay sim", out)


class Interrupt(SimTest):
    # Takes hours on any machine.
    LONG = ["torus", "--dims", "16x16x16", "--load", "0.3", "--precision",
            "0.000001", "--max-cycles", "1000000000"]

    def start(self, *arguments, ignored=(), **options):
        def signals():
            """nohup and background jobs of scripts ignore some of these."""
            for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
                signal.signal(number, signal.SIG_IGN if number in ignored
                              else signal.SIG_DFL)

        process = subprocess.Popen([CAY, "sim", *arguments], text=True,
                                   stdout=subprocess.PIPE, preexec_fn=signals,
                                   cwd=self.directory.name, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_interrupted_run_prints_results(self):
        process = self.start(*self.LONG, "--json")
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)
        found = json.loads(out)
        self.assertEqual(found["verdict"], "stopped")
        self.assertGreater(found["cycles"], 0)

    def test_interrupted_sweep_prints_results(self):
        process = self.start(*self.LONG[:3], "--loads", "0.05,0.3,0.4",
                             "--precision", "0.000001", "--csv", "a.csv",
                             "--max-cycles", "1000000000")
        time.sleep(2)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)
        self.assertIn("stopped before the last load", out)
        self.assertNotIn("all of these loads", out)
        with open(self.path("a.csv")) as f:
            self.assertIn("stopped", f.read())
        self.assertEqual(self.files(), ["a.csv"])

    def test_interrupted_sweep_prints_steady_load(self):
        process = self.start(*self.LONG[:3], "--loads", "0.001,0.3",
                             "--precision", "0.05")
        seen = ""
        while " steady" not in seen:
            seen = process.stdout.readline()
            self.assertTrue(seen, "it has ended")
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)
        self.assertRegex(out, r"  0\.3000 .* - +- +- .*stopped\n")
        self.assertIn("so far: steady up to 0.001 ", out)

    def test_ignored_signals_stay_ignored(self):
        """As under nohup, or in the background of a script."""
        process = self.start(*self.LONG[:3], "--loads", "0.001,0.3",
                             "--precision", "0.05",
                             ignored=(signal.SIGHUP, signal.SIGINT))
        self.assertTrue(process.stdout.readline())
        for number in signal.SIGHUP, signal.SIGINT:
            process.send_signal(number)
        seen = ""
        while " steady" not in seen:
            seen = process.stdout.readline()
            self.assertTrue(seen, "it has ended")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)

    def test_progress_on_terminals_only(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        process = self.start(*self.LONG, stderr=slave)
        os.close(slave)
        seen = b""
        deadline = time.monotonic() + TIMEOUT
        while b"cycle" not in seen and time.monotonic() < deadline:
            if select.select([master], [], [], 1)[0]:
                seen += os.read(master, 4096)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=TIMEOUT)
        self.assertRegex(seen, rb"\rcycle \d+, latency [\d.]+")
        self.assertNotIn("\033", out)


class Manual(SimTest):
    def examples(self):
        """Commands of the manual page, by block."""
        block = None
        for line in pathlib.Path(MANUAL).read_text().splitlines():
            if line.startswith(".Bd -literal"):
                block = []
            elif line == ".Ed":
                if block and block[0].startswith("$ "):
                    yield "\n".join(b[2:] for b in block)
                block = None
            elif block is not None:
                block.append(line.replace("\\e", "\\"))

    def test_examples(self):
        environment = dict(os.environ)
        environment["PATH"] = \
            f"{os.path.dirname(CAY)}{os.pathsep}{environment['PATH']}"
        examples = list(self.examples())
        self.assertGreater(len(examples), 5)
        for example in examples:
            with self.subTest(example=example):
                result = subprocess.run(
                    ["sh", "-eu", "-c", example], env=environment,
                    cwd=self.directory.name, capture_output=True, text=True,
                    timeout=TIMEOUT)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertTrue(result.stdout)
        self.assertEqual(set(self.files()) & {"curve.svg", "heat.svg"},
                         {"curve.svg", "heat.svg"})

    def test_members_are_documented(self):
        page = pathlib.Path(MANUAL).read_text()
        found = self.json(*SMALL, "--loads", "0.1,0.2")
        for name in {*found, *found["points"][0]}:
            self.assertRegex(page, rf"\b{name}\b")


def main():
    global CAY, MANUAL
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    CAY = os.path.abspath(sys.argv.pop(1))
    MANUAL = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
