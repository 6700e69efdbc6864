# SPDX-License-Identifier: BSD-2-Clause
"""Figures and tables of tools/bench; no process and no clock.

A slice is one turn of a candidate: [round, ns, L before, L after, preemptions].
"""
import csv
import math
import statistics

import benchplot

DRIFT = 1.10  # between L before and after a slice
MOVED = 1.25  # between L of a slice and that of most
PLOTTED_MAX = 20  # times the best peer
CLEAN_SHARE = 0.5  # of the slices, for a figure that is not disturbed
DISTURBED = "disturbed, for orientation"
ASYMPTOTIC = 65536  # bytes, from which a bandwidth counts as the greatest
DISTANCES = [(60, "near: one physical core, or a close shared cache"),
             (220, "middle: two cores of one chip"),
             (math.inf, "far: another chip, or a loaded host")]

INTRODUCTION = """\
# Cay and its peers

Two processes on two cores; all candidates of a case take turns in each round.
Before a message is sent, its sender writes every cache line of it; when it has
arrived, its receiver reads every line. Up to 256 bytes the writing is part of
the time, of longer messages not.

* **L** is the time that one cache line takes from one core to the other. It is
  measured before and after each slice of each candidate. Most latencies are
  multiples of it, and it depends on where the host places the cores: compare the
  columns with ratios, of one table.
* **sketch** (the baseline of `cay bench`): Cay's mechanism and nothing else: no names, no checks, no recovery,
  no sleeping. For messages, a claim by compare-and-swap and one cache line, and a
  copy if the message is longer; for remote memory, a store or an atomic
  operation on a word that both processes have mapped. What Cay adds to it is the
  cost of the rest.
* **own SPSC ring**: head and tail in shared memory, one sender and one receiver,
  both trusted and awake, as programs write it for themselves.
* **ns**: p50 over rounds. **/L**: p50 [quartiles] of the ratio in each round.
  **/best**: p50 of the ratio to the fastest library or kernel mechanism (marked
  *best*) in the same round; **/ring**: to the own ring.
* **rounds**: those that count, of all. A slice counts if L before and after it
  agree within 10 %, if no process lost its core, and if the distance of the
  cores was that of most slices. If fewer than half count, the figure is of
  all rounds, marked *"""
INTRODUCTION += DISTURBED + "*.\n"

SECTIONS = {
    "latency": "Latency: one way, half a round trip (Cay: Send; UCT: active "
               "message; UCP, libfabric: tagged)",
    "rate": "Message rate: time per message of a stream",
    "one-sided": "One-sided operations",
    "atomics": "Atomic operations, with their result",
    "ring": "More processes than cores: per hop; ratio to L for orientation",
    "collectives": "Collective operations, with more ranks than cores; ratio to "
                   "L for orientation",
    "job": "Whole MPI jobs that start, meet in one barrier, and end; ratio to L "
           "for orientation",
    "ports": "Cost of an issue, by the number of open ports of the node",
}


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def ns_text(ns):
    """Three digits."""
    for unit, name in ((1e6, "ms"), (1e3, "µs"), (1, "ns")):
        if ns >= unit or unit == 1:
            value = ns / unit
            digits = 0 if value >= 100 else 1 if value >= 10 else 2
            return f"{value:.{digits}f} {name}"


def ratio_text(ratio):
    return "" if ratio is None else f"{ratio:.2f}" if ratio < 100 \
        else f"{ratio:.0f}"


def quartiles(values):
    if len(values) < 2:
        return [values[0]] * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def handover_of(turn):
    return (turn[2] + turn[3]) / 2


class Case:
    """One table: an operation, its candidates, and what they have shown."""

    def __init__(self, section, name, kind, size, keys, ports=None):
        self.section, self.name, self.kind = section, name, kind
        self.bytes, self.keys = size, keys
        self.ports = ports or {}
        self.slices = {}  # candidate: [round, ns, L before, L after, lost]
        self.problems = {}  # candidate: text


class Figure:
    """What the slices of one candidate in one case say."""

    def __init__(self, slices, most):
        near = [t for t in slices if handover_of(t) <= MOVED * most
                and most <= MOVED * handover_of(t)]
        clean = [t for t in near if not t[4]
                 and max(t[2], t[3]) <= DRIFT * min(t[2], t[3])]
        self.disturbed = len(clean) < CLEAN_SHARE * len(slices)
        used = clean if not self.disturbed else \
            near if len(near) >= CLEAN_SHARE * len(slices) else slices
        self.rounds = {turn[0]: turn for turn in used}
        self.counted, self.tried = len(clean), len(slices)
        self.ns = quartiles([turn[1] for turn in used])
        self.handover = statistics.median(map(handover_of, used))
        self.over_handover = quartiles(
            [turn[1] / handover_of(turn) for turn in used])

    def over(self, other):
        """p50 of the ratio in the rounds that both have at one distance."""
        common = [turn[1] / other.rounds[number][1]
                  for number, turn in self.rounds.items()
                  if number in other.rounds
                  and max(handover_of(turn),
                          handover_of(other.rounds[number]))
                  <= MOVED * min(handover_of(turn),
                                 handover_of(other.rounds[number]))]
        return statistics.median(common) if common \
            else self.ns[1] / other.ns[1]


class Report:
    def __init__(self, cases, candidates, checks, arguments):
        self.cases, self.candidates, self.checks = cases, candidates, checks
        self.arguments = arguments
        self.figures = {case: self.figures_of(case) for case in cases}

    @staticmethod
    def figures_of(case):
        every = [handover_of(t) for s in case.slices.values() for t in s]
        most = statistics.median(every) if every else 0
        return {key: Figure(slices, most)
                for key, slices in case.slices.items()}

    def best(self, case, group):
        """The fastest, compared in common rounds: the cores may have moved."""
        figures = {key: f for key, f in self.figures[case].items()
                   if self.candidates[key].group == group}
        if not figures:
            return None
        other = max(figures.values(), key=lambda f: len(f.rounds))
        return min(figures, key=lambda key: figures[key].over(other))

    def rows(self, case):
        """A dictionary for each candidate, also for those without figure."""
        figures = self.figures[case]
        best, ring = self.best(case, "peer"), self.best(case, "ring")
        if case.section == "ports":
            best = next(iter(figures), None)
        for key in case.keys:
            row = {"section": case.section, "case": case.name,
                   "bytes": case.bytes, "candidate": key,
                   "version": self.candidates[key].version,
                   "problem": case.problems.get(key, "")}
            if key in figures:
                f = figures[key]
                row.update(
                    ns_p50=f.ns[1], ns_q1=f.ns[0], ns_q3=f.ns[2],
                    L_ns=f.handover, over_L_p50=f.over_handover[1],
                    over_L_q1=f.over_handover[0],
                    over_L_q3=f.over_handover[2],
                    over_best=f.over(figures[best]) if best else None,
                    over_ring=f.over(figures[ring]) if ring else None,
                    best=key == best, rounds_counted=f.counted,
                    rounds=f.tried, disturbed=f.disturbed)
            elif not row["problem"]:
                continue
            yield row

    def write_csv(self, path):
        rows = [row for case in self.cases for row in self.rows(case)]
        names = list(dict.fromkeys(name for row in rows for name in row))
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            for row in rows:
                writer.writerow({
                    name: f"{value:.4g}" if isinstance(value, float)
                    else value for name, value in row.items()})

    def svg(self):
        """Latency over that of the best peer, by length, with quartiles."""
        curves, disturbed = {}, False
        for case in self.cases:
            best = self.best(case, "peer") or self.best(case, "cay")
            if case.section != "latency" or not best:
                continue
            figures = self.figures[case]
            for key, figure in figures.items():
                disturbed |= figure.disturbed
                ratio = figure.over(figures[best])
                point = [ratio * part / figure.over_handover[1]
                         for part in figure.over_handover]
                if ratio <= PLOTTED_MAX:
                    curves.setdefault(key, []).append((case.bytes, *point))
        return benchplot.plot(
            "One way over the best peer" + f" ({DISTURBED})" * disturbed,
            "length of the message",
            f"p50 and quartiles; above {PLOTTED_MAX} not shown",
            [(candidate.title, curves[key], candidate.group)
             for key, candidate in self.candidates.items()
             if key in curves], size_text)

    # ---- Markdown ----

    def table(self, case):
        cells = [["candidate", "time", "/L", "/best", "/ring", "rounds", ""]]
        if case.section == "rate":
            cells[0][1] = "M/s"
        if case.section == "ports":
            cells[0][3] = "/2 ports"
        for row in self.rows(case):
            title = self.candidates[row["candidate"]].title
            if "ns_p50" not in row:
                cells.append([title, *[""] * 5, row["problem"]])
                continue
            quarters = "–".join(ratio_text(row[f"over_L_{q}"])
                                for q in ("q1", "q3"))
            remarks = ["best"] if row["best"] and case.section != "ports" \
                else []
            remarks += [DISTURBED] if row["disturbed"] else []
            remarks += [row["problem"]] if row["problem"] else []
            cells.append([
                title, f"{1000 / row['ns_p50']:.3g}"
                if case.section == "rate" else ns_text(row["ns_p50"]),
                f"{ratio_text(row['over_L_p50'])} [{quarters}]",
                ratio_text(row["over_best"]), ratio_text(row["over_ring"]),
                f"{row['rounds_counted']}/{row['rounds']}",
                "; ".join(remarks)])
        return cells

    def handover_text(self, case):
        figures = self.figures[case].values()
        if not figures:
            return "no figure"
        ns = statistics.median(f.handover for f in figures)
        distance = next(text for limit, text in DISTANCES if ns < limit)
        return f"L = {ns:.0f} ns ({distance})"

    def half_bandwidth(self):
        """For each candidate: greatest bandwidth, and half of it at n1/2."""
        curves = {}
        for case in self.cases:
            if case.section == "latency":
                for key, figure in self.figures[case].items():
                    curves.setdefault(key, []).append(
                        (case.bytes, case.bytes / figure.ns[1]))
        curves = {key: curve for key, curve in curves.items()
                  if curve[-1][0] >= ASYMPTOTIC}
        cells = [["candidate", "bandwidth", "/best", "n½"]]
        tops = {key: max(rate for _, rate in curve)
                for key, curve in curves.items()}
        best = max((tops[key] for key in tops
                    if self.candidates[key].group == "peer"), default=None)
        for key, curve in curves.items():
            half = crossing(curve, tops[key] / 2)
            cells.append([self.candidates[key].title,
                          f"{tops[key]:.3g} GB/s",
                          ratio_text(tops[key] / best) if best else "",
                          size_text(round(half)) if half
                          else f"below {size_text(curve[0][0])}"])
        return cells

    def cross_checks(self):
        lines = []
        for case in self.cases:
            for key, ratio in self.checks.items():
                if (case.section, case.bytes) == ("latency", 8) \
                        and key in self.figures[case]:
                    ours = self.figures[case][key].over_handover[1]
                    lines.append(
                        f"* Cross-check: {self.candidates[key].title}, 8 B, "
                        f"one way: {ours:.2f} L here, {ratio:.2f} L by "
                        "`ucx_perftest`, which neither writes nor reads the "
                        "message, in a run of its own.")
        return lines

    def markdown(self):
        versions = dict.fromkeys(
            c.version for c in self.candidates.values()
            if c.version and " " in c.version)
        lines = [INTRODUCTION,
                 f"`{' '.join(['tools/bench', *self.arguments])}`; "
                 + ", ".join(versions) + "\n"]
        section = None
        for case in self.cases:
            if case.section != section:
                section = case.section
                lines.append(f"## {SECTIONS[section]}\n")
            lines.append(f"### {case.name}; {self.handover_text(case)}\n")
            lines += aligned(self.table(case))
        if any(case.section == "latency" for case in self.cases):
            lines.append("## Half-bandwidth length\n\n"
                         "The greatest bandwidth of the latencies above, and "
                         "n½, the length of a message at which half of it is "
                         "reached.\n")
            lines += aligned(self.half_bandwidth())
        lines += self.cross_checks()
        return "\n".join(lines)


def crossing(curve, rate):
    """The length at which a curve of bandwidths passes a rate; between two
    lengths the time is linear.
    """
    for (size_a, rate_a), (size_b, rate_b) in zip(curve, curve[1:]):
        if rate_a < rate <= rate_b:
            time = size_a / rate_a
            slope = (size_b / rate_b - time) / (size_b - size_a)
            return rate * (time - size_a * slope) / (1 - rate * slope)
    return None


def aligned(cells):
    """The lines of a Markdown table."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    rows = ["| " + " | ".join(
        text.ljust(width) if i in (0, len(widths) - 1) else text.rjust(width)
        for i, (text, width) in enumerate(zip(row, widths))) + " |"
            for row in cells]
    rule = "|" + "|".join("-" * (width + 1) + (
        ":" if 0 < i < len(widths) - 1 else "-")
        for i, width in enumerate(widths)) + "|"
    return [rows[0], rule, *rows[1:], ""]
