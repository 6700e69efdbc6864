# SPDX-License-Identifier: BSD-2-Clause
"""The complaints of a check of the tree, which fails if there are any."""
import sys

complaints = []


def complain(text):
    complaints.append(text)


def finish():
    """Prints the complaints and exits with 1 if there are any, else 0."""
    for text in complaints:
        print(text)
    print(f"{len(complaints)} complaints")
    sys.exit(1 if complaints else 0)
