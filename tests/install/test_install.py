#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Installs the build into a temporary directory and uses it as a program would.

usage: test_install.py CASE --source ROOT --build DIR

Each case is one function below. Exit 77 (skipped) if a tool is missing or the
system does not allow what the case needs.
"""
import argparse
import contextlib
import fcntl
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HELLO = """
#include <cay/cay.h>
#include <stdio.h>

int main(void)
{
	struct cay_port *port = cay_port_open(NULL);
	struct cay_peer *self;
	struct cay_event event;
	if (!port || cay_peer_resolve(port, cay_port_addr(port), &self) != 0 ||
		cay_send(port, self, 7, "hello", 5, 0) != 0 ||
		cay_wait(port, CAY_FOREVER) != 0 ||
		cay_poll(port, &event, 1) != 1)
		return 1;
	printf("%.*s %s\\n", (int)event.length, (const char *)event.data,
		cay_version() == CAY_VERSION ? CAY_VERSION_STRING : "mismatch");
	cay_release(port, &event);
	cay_peer_release(self);
	return cay_port_close(port) == 0 ? 0 : 1;
}
"""
SECONDS_MAX = 300


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            skip(f"{tool} is missing")


def environment(**more):
    """Without what the tests set, so that the installation has to suffice."""
    names = ("PATH", "HOME", "CC", "LANG", "TMPDIR")
    env = {name: os.environ[name] for name in names if name in os.environ}
    env["CAY_NODE"] = f"install-{os.getpid()}"
    return env | more


def run(*command, env=None, cwd=None, status=0):
    """Returns standard output. The status None allows every one but 0."""
    done = subprocess.run([str(word) for word in command], text=True, cwd=cwd,
                          env=env or environment(), timeout=SECONDS_MAX,
                          stdin=subprocess.DEVNULL, capture_output=True)
    right = done.returncode != 0 if status is None else \
        done.returncode == status
    if not right:
        sys.exit(f"{' '.join(map(str, command))}: exit status "
                 f"{done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Tree:
    """A source tree, its build directory and a temporary directory."""

    def __init__(self, source, build, work):
        self.source, self.build, self.work = source, build, work
        options = json.loads(run("meson", "introspect", "--buildoptions", build))
        option = {o["name"]: o["value"] for o in options}
        self.prefix = option["prefix"]
        self.libdir = pathlib.Path(self.prefix, option["libdir"])
        self.version = run(source / "tools/version").strip()
        self.hello = work / "hello.c"
        self.hello.write_text(HELLO)

    def installed(self, path, root):
        """A path of the installation below the root directory."""
        return pathlib.Path(f"{root}{path}")

    @contextlib.contextmanager
    def install_log(self):
        """Keeps the log of the user's own installation for make uninstall."""
        log = self.build / "meson-logs/install-log.txt"
        with open(self.build / "meson-logs/install-test.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = log.read_bytes() if log.exists() else None
            try:
                yield
            finally:
                log.unlink(missing_ok=True)
                if kept is not None:
                    log.write_bytes(kept)

    def install(self, *arguments):
        return run("meson", "install", "--no-rebuild", "-C", self.build,
                   *arguments)

    def remaining(self):
        """What the last installation leaves to be done."""
        return (self.build / "meson-logs/after-install.txt").read_text()

    def install_below(self, root):
        with self.install_log():
            self.install("--quiet", "--destdir", root)

    def pkg_config(self, root, *options):
        return run("pkg-config", *options, "cay", env=environment(
            PKG_CONFIG_PATH=self.installed(self.libdir, root) / "pkgconfig",
            PKG_CONFIG_SYSROOT_DIR=str(root))).split()

    def compile(self, *arguments):
        program = self.work / "hello"
        run(*os.environ.get("CC", "cc").split(), "-Wall", "-Wextra", "-Werror",
            self.hello, "-o", program, *arguments)
        return program

    def greet(self, program, env=None):
        said = run(program, env=env)
        if said != f"hello {self.version}\n":
            sys.exit(f"{program} printed {said!r}")


def check_packages(tree, files):
    """Each file is in one Debian package, and each package has its files."""
    count = dict.fromkeys(files, 0)
    for path in sorted((tree.source / "debian").glob("*.install")):
        for line in path.read_text().splitlines():
            pattern = line.split()[0]
            pattern = re.sub(r"^usr/lib/\*", str(tree.libdir)[1:], pattern)
            pattern = re.sub(r"^usr/(?!local/)", f"{tree.prefix[1:]}/", pattern)
            found = [name for name in files if fnmatch.fnmatch(name, pattern)
                     or name.startswith(f"{pattern}/")]
            if not found:
                sys.exit(f"{path.name}: {line} is not installed")
            for name in found:
                count[name] += 1
    wrong = sorted(name for name, number in count.items() if number != 1)
    if wrong:
        sys.exit(f"not in one Debian package: {wrong}")


def case_files(tree):
    """All parts are in their places, and uninstalling leaves nothing."""
    root = tree.work / "root"
    with tree.install_log():
        # The second log does not list directories, which exist.
        for _ in range(2):
            tree.install("--quiet", "--destdir", root)
        if "run ldconfig" not in tree.remaining():
            sys.exit(f"nobody is told to run ldconfig: {tree.remaining()}")
        files = {str(path.relative_to(root))
                 for path in root.rglob("*") if not path.is_dir()}
        libdir = str(tree.libdir).lstrip("/")
        headers = [f"include/cay/{path.name}"
                   for path in (tree.source / "include/cay").glob("*.h")]
        wanted = [f"{tree.prefix[1:]}/{name}" for name in
                  ["bin/cay", "share/bash-completion/completions/cay.bash",
                   *headers]]
        wanted += [f"{libdir}/{name}" for name in
                   ["libcay.so", "libcay.so.1", f"libcay.so.{tree.version}",
                    "libcay.a", "pkgconfig/cay.pc", "cay/libcay-trace.so",
                    "cmake/cay/cayConfig.cmake",
                    "cmake/cay/cayConfigVersion.cmake"]]
        if (tree.build / "libcay-fi.so").exists():
            wanted.append(f"{libdir}/libfabric/libcay-fi.so")
        missing = sorted(set(wanted) - files)
        if missing:
            sys.exit(f"not installed: {missing}")
        if (tree.build / "libcay-fi.so").exists():
            check_packages(tree, files)
        run(tree.source / "tools/uninstall", tree.build)
        left = [path for path in root.rglob("*")
                if not path.is_dir() or "cay" in path.name]
        if left:
            sys.exit(f"left behind: {left}")


def case_pkg_config(tree):
    """The shared and the static library, with the flags of pkg-config."""
    need("pkg-config")
    root = tree.work / "root"
    tree.install_below(root)
    flags = tree.pkg_config(root, "--cflags", "--libs")
    libdir = tree.installed(tree.libdir, root)
    program = tree.compile(*flags, f"-Wl,-rpath,{libdir}")
    tree.greet(program)
    if tree.pkg_config(root, "--modversion") != [tree.version]:
        sys.exit("cay.pc has another version")
    flags = tree.pkg_config(root, "--static", "--cflags", "--libs")
    flags = [flag.replace("-lcay", "-l:libcay.a") for flag in flags]
    cay = tree.installed(tree.prefix, root) / "bin/cay"
    tree.greet(tree.compile(*flags),
               environment(CAY_NODE_PROGRAM=str(cay)))


def case_uninstalled(tree):
    """A program against the build directory."""
    need("pkg-config")
    flags = run("pkg-config", "--cflags", "--libs", "cay", env=environment(
        PKG_CONFIG_PATH=tree.build / "meson-uninstalled")).split()
    if f"-I{tree.source}/include" not in flags:
        sys.exit(f"the flags are not those of the build directory: {flags}")
    tree.greet(tree.compile(*flags, f"-Wl,-rpath,{tree.build}"))


def case_cmake(tree):
    """A CMake project that links cay::cay and cay::static."""
    need("cmake")
    root = tree.work / "root"
    tree.install_below(root)
    project = tree.work / "project"
    project.mkdir()
    major = tree.version.split(".")[0]

    def configure(version, status=0):
        (project / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.16)
project(hello C)
find_package(cay {version} REQUIRED CONFIG NO_CMAKE_SYSTEM_PATH)
add_executable(shared ../hello.c)
target_link_libraries(shared cay::cay)
add_executable(static ../hello.c)
target_link_libraries(static cay::static)
""")
        shutil.rmtree(project / "build", ignore_errors=True)
        run("cmake", "-S", project, "-B", project / "build", "-DCMAKE_PREFIX_PATH="
            f"{tree.installed(tree.prefix, root)}", status=status)

    configure(f"{int(major) + 1}.0", status=None)
    configure(f"{major}.999", status=None)
    configure(tree.version)
    run("cmake", "--build", project / "build")
    tree.greet(project / "build/shared")
    cay = tree.installed(tree.prefix, root) / "bin/cay"
    tree.greet(project / "build/static",
               environment(CAY_NODE_PROGRAM=str(cay)))


def case_provider(tree):
    """libfabric finds the installed provider by the documented variable."""
    need("fi_info")
    if not (tree.build / "libcay-fi.so").exists():
        skip("the provider is not built")
    root = tree.work / "root"
    tree.install_below(root)
    directory = tree.installed(tree.libdir, root) / "libfabric"
    said = run("fi_info", "-p", "cay",
               env=environment(FI_PROVIDER_PATH=str(directory)))
    if "provider: cay" not in said:
        sys.exit(said)


def case_subproject(tree):
    """Cay as a meson subproject; another prefix compiles few files again."""
    need("ninja")
    parent = tree.work / "parent"
    (parent / "subprojects").mkdir(parents=True)
    (parent / "subprojects/cay").symlink_to(tree.source)
    (parent / "meson.build").write_text(
        "project('parent', 'c')\n"
        "executable('hello', '../hello.c', dependencies: dependency('cay',\n"
        f"  version: '>={tree.version}', fallback: 'cay'))\n")
    build = tree.work / "parent-build"
    # Without pkg-config, an installed Cay is not found instead.
    run("meson", "setup", "--wrap-mode=forcefallback", build, parent)
    run("ninja", "-C", build, "hello")
    tree.greet(build / "hello",
               environment(CAY_NODE_PROGRAM=str(tree.build / "cay")))

    def commands():
        text = (build / "compile_commands.json").read_text()
        return {entry["output"]: entry["command"] for entry in json.loads(text)}

    before = commands()
    run("meson", "configure", build, "-Dprefix=/elsewhere")
    run("ninja", "-C", build, "build.ninja")
    if commands() != before:
        sys.exit("another prefix changes compile commands")
    plan = run("ninja", "-C", build, "-n", "hello")
    compiled = re.findall(r"Compiling C object .*/(\S+)", plan)
    if len(compiled) != 1 or "spawn" not in compiled[0]:
        sys.exit(f"another prefix compiles {compiled}")


def case_prefix(tree):
    """The default prefix: the loader and pkg-config find all without a variable.

    /usr/local and /etc are overlays in a mount namespace, so the machine is not
    changed.
    """
    need("pkg-config", "unshare", "ldconfig")
    if tree.prefix != "/usr/local":
        skip(f"the prefix is {tree.prefix}")
    mounts = "mount -t tmpfs cay \"$0\" && cd \"$0\" && " \
        "mkdir local local-work etc etc-work && " \
        "mount -t overlay -o lowerdir=/usr/local,upperdir=local," \
        "workdir=local-work cay /usr/local && " \
        "mount -t overlay -o lowerdir=/etc,upperdir=etc,workdir=etc-work " \
        "cay /etc && exec \"$@\""
    scratch = tree.work / "scratch"
    scratch.mkdir()
    namespace = ["unshare", "--mount"]
    namespace += ["--map-root-user"] if os.geteuid() else []
    namespace += ["sh", "-c", mounts, scratch]
    if subprocess.run([*namespace, "true"], capture_output=True).returncode:
        skip("no mount namespace with overlays")
    print(run(*namespace, sys.executable, __file__, "inside",
              "--source", tree.source, "--build", tree.build))


def case_inside(tree):
    """Runs in the namespace of case_prefix()."""
    prefix = pathlib.Path(tree.prefix)
    before = set(prefix.rglob("*"))
    with tree.install_log():
        tree.install("--quiet")
        if "does not search" in tree.remaining():
            sys.exit(tree.remaining())
        flags = run("pkg-config", "--cflags", "--libs", "cay").split()
        tree.greet(tree.compile(*flags))
        if run("/usr/local/bin/cay", "--version") != f"cay {tree.version}\n":
            sys.exit("the command has another version")
        if (tree.build / "libcay-fi.so").exists() and shutil.which("fi_info"):
            provider = re.search(r"FI_PROVIDER_PATH=(\S+)", tree.remaining())
            run("fi_info", "-p", "cay",
                env=environment(FI_PROVIDER_PATH=provider[1]))
        run(tree.source / "tools/uninstall", tree.build)
    left = set(prefix.rglob("*")) - before
    if left:
        sys.exit(f"left behind: {sorted(map(str, left))}")
    if "libcay" in run("ldconfig", "-p"):
        sys.exit("the cache of the loader still names the library")


def case_make(tree):
    """make installs few packages, which the documents list."""
    need("make")
    makefile = (tree.source / "Makefile").read_text().replace("\\\n", " ")
    lists = dict(re.findall(r"^(\w*(?:PACKAGES|PEERS|MPI)) = (.*)$", makefile,
                            re.M))
    packages = {word for words in lists.values() for word in words.split()
                if "$" not in word}

    def installed_by(target):
        plan = run("make", "-n", "-C", tree.source, f"BUILD={tree.work}/build",
                   target)
        return set(" ".join(re.findall(r"^tools/install-packages (.*)$", plan,
                                       re.M)).split())

    for target in re.search(r"^\.PHONY: (.*)$", makefile, re.M)[1].split():
        installed_by(target)  # every prerequisite has a rule
    if installed_by("all") != set(lists["BUILD_PACKAGES"].split()):
        sys.exit(f"make installs {sorted(installed_by('all'))}")
    for package in ("libcmocka-dev", "spin", "clang"):
        if package not in installed_by("test") - installed_by("install"):
            sys.exit(f"{package} is not only for make test")
    pinned = [name for name in packages if re.search(r"-\d+(-|$)", name)]
    if pinned:
        sys.exit(f"packages of one version: {pinned}")
    page = (tree.source / "docs/install.md").read_text()
    for name in sorted(packages):
        if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", page):
            sys.exit(f"docs/install.md does not name {name}")
    if "rm" in run("make", "-n", "-C", tree.source, "clean").split():
        sys.exit("make clean removes the configuration")
    other = subprocess.run(
        ["/bin/sh", str(tree.source / "tools/install-packages"), "gcc"],
        env={"PATH": str(tree.work)}, capture_output=True, text=True)
    if other.returncode != 1 or "not Debian" not in other.stderr:
        sys.exit(f"install-packages without apt-get: {other}")


def main():
    cases = {name.removeprefix("case_"): function
             for name, function in globals().items()
             if name.startswith("case_")}
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=cases)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    os.environ["PATH"] += ":/usr/sbin:/sbin"  # of ldconfig
    with tempfile.TemporaryDirectory(prefix="cay-install-") as work:
        tree = Tree(options.source.resolve(), options.build.resolve(),
                    pathlib.Path(work))
        cases[options.case](tree)
    print(f"{options.case}: passed")


main()
