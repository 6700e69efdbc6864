#!/usr/bin/env python3
"""The static library defines the same global symbols as the shared one, so an
application may use the names of internal functions for its own.

usage: test_static.py STATIC_LIBRARY SHARED_LIBRARY INCLUDE_DIRECTORY CC...

Exit 77 (skipped) if nm is missing.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

# Names of functions and objects that the library uses internally.
INTERNAL = ["device_send", "device_put", "node_address", "record_find",
            "context_load", "lock", "members"]

PROGRAM = """
#include <cay/cay.h>
{definitions}
int main(void)
{{
	struct cay_port_options options = {{ .node = "{node}" }};
	struct cay_port *port = cay_port_open(&options);
	struct cay_peer *self;
	struct cay_event event;
	if (!port || cay_peer_resolve(port, cay_port_addr(port), &self) != 0 ||
		cay_send(port, self, 7, "hello", 5, 0) != 0 ||
		cay_poll(port, &event, 1) != 1 || event.tag != 7)
		return 1;
	cay_release(port, &event);
	cay_peer_release(self);
	if (cay_port_close(port) != 0)
		return 1;
	return {sum} == 3 * {count} ? 0 : 1;
}}
"""


def defined(library, *options):
    out = subprocess.run(["nm", *options, "--defined-only", library],
                         capture_output=True, text=True, check=True).stdout
    # A is a symbol without a section: the name of a version.
    return {fields[2].split("@")[0] for fields in map(str.split, out.splitlines())
            if len(fields) == 3 and fields[1] != "A"}


def main():
    static, shared, include, *cc = sys.argv[1:]
    if not shutil.which("nm"):
        sys.exit(77)
    visible, exported = defined(static, "-g"), defined(shared, "-D")
    assert exported, f"{shared} exports nothing"
    assert visible == exported, \
        f"only in one library: {sorted(visible ^ exported)}"

    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory, "clash.c")
        program = pathlib.Path(directory, "clash")
        source.write_text(PROGRAM.format(
            node=f"static-{pathlib.Path(directory).name}",
            definitions="\n".join(f"int {name} = 3;" for name in INTERNAL),
            sum=" + ".join(INTERNAL), count=len(INTERNAL)))
        subprocess.run([*cc, "-Wall", "-Werror", "-I", include, str(source),
                        static, "-pthread", "-o", str(program)], check=True)
        subprocess.run([str(program)], check=True, timeout=60)
    print(f"{len(visible)} symbols are global, and {len(INTERNAL)} internal "
          "names are free")


main()
