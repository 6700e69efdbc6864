#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Converts the documents to HTML and follows every link.

usage: pages.py TOOL BUILD

  * every relative link of a page leads to a file, and its fragment to an ID;
  * every page can be reached from index.html;
  * references to manual pages of Cay stay in the folder;
  * nothing of Markdown or roff is left in the text of the pages.

Exit status 77: lowdown or mandoc is not installed.
"""
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

from complaints import complain, finish


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.text, self.code = [], set(), [], 0
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.links += [attributes[k] for k in ("href", "src")
                       if k in attributes]
        if "id" in attributes:
            self.ids.add(attributes["id"])
        self.code += tag in ("pre", "code")

    def handle_endtag(self, tag):
        self.code -= tag in ("pre", "code")

    def handle_data(self, data):
        if not self.code:
            self.text.append(data)


def check(root):
    pages = {path: Page(path) for path in root.rglob("*.html")}
    reached, at = set(), [root / "index.html"]
    while at:
        path = at.pop()
        if path in reached:
            continue
        reached.add(path)
        name = path.relative_to(root)
        for link in pages[path].links:
            url = urllib.parse.urlsplit(link)
            if url.scheme:
                if re.search(r"debian\.org/cay", link):
                    complain(f"{name}: {link} is a page of Cay")
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() \
                if url.path else path
            if not target.is_file():
                complain(f"{name}: {link} does not exist")
            elif target in pages:
                at.append(target)
                if url.fragment and url.fragment not in pages[target].ids:
                    complain(f"{name}: {link} has no such part")
        left = re.search(r"\]\([\w./#-]+\)|^\|.*\|$|```|<!--|\\f[BIR]",
                         "".join(pages[path].text), re.M)
        if left:
            complain(f"{name}: not converted: {left.group(0)}")
    for path in sorted(set(pages) - reached):
        # A page under a second name is a copy.
        if path.parent.name != "man":
            complain(f"{path.relative_to(root)} cannot be reached")
    if len(reached) < 50:
        complain(f"only {len(reached)} pages")
    print(f"{len(pages)} pages, {len(reached)} reached")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tool, build = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    for program in "lowdown", "mandoc":
        if not shutil.which(program):
            print(f"{program} is not installed")
            sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="cay-html-") as directory:
        root = pathlib.Path(directory).resolve() / "html"
        subprocess.run([sys.executable, tool, "--build", build, "--output",
                        root], check=True, timeout=200)
        check(root)
    finish()


if __name__ == "__main__":
    main()
