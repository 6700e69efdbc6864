# On Debian, each target first installs the missing packages that it needs.

BUILD ?= build
# Of meson, when the build directory is made: make OPTIONS=-Dprefix=/opt/cay
OPTIONS ?=

BUILD_PACKAGES = gcc libc6-dev meson ninja-build pkg-config
PROVIDER_PACKAGES = libfabric-dev libfabric-bin
# clang with its sanitizers is the second compiler, g++ compiles the headers.
TEST_PACKAGES = $(PROVIDER_PACKAGES) libcmocka-dev spin clang libclang-rt-dev \
	clang-format g++ groff-base procps valgrind cmake $(HTML_PACKAGES)

DEB_PACKAGES = $(PROVIDER_PACKAGES) dpkg-dev debhelper lintian

# For comparisons with other implementations of messages and remote memory.
PEERS = openmpi-bin libopenmpi-dev mpich libmpich-dev libucx-dev ucx-utils

# For the documents as HTML.
HTML_PACKAGES = lowdown mandoc python3

# For MPI programs over Cay.
MPI = openmpi-bin libopenmpi-dev hpcc

.PHONY: all provider demo test test-build test-sanitize soak mutate bench \
	bench-sim bench-machine mpi format check-format html install \
	uninstall deb clean distclean build-packages provider-packages test-packages

# The library, the command and, if libfabric is there, the provider.
all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja: | build-packages
	meson setup $(BUILD) -Dtests=disabled $(OPTIONS)

build-packages:
	@tools/install-packages $(BUILD_PACKAGES)

provider-packages:
	@tools/install-packages $(BUILD_PACKAGES) $(PROVIDER_PACKAGES)

test-packages:
	@tools/install-packages $(BUILD_PACKAGES) $(TEST_PACKAGES)

provider: provider-packages
	tools/configure $(BUILD) -Dprovider=enabled $(OPTIONS)
	ninja -C $(BUILD)

demo: all
	$(BUILD)/cay demo

test-build: test-packages
	tools/configure $(BUILD) -Dtests=enabled -Dprovider=enabled $(OPTIONS)
	ninja -C $(BUILD)

test: check-format test-build
	tools/run-tests $(BUILD)

# Runs the tests with gcc and clang, under ASan+UBSan and under TSan.
test-sanitize: test-packages
	tools/run-sanitizers

# Kills clients and nodes at random next to hostile members of another realm.
SOAK_SECONDS ?= 60
soak: test-build
	tests/crash/soak.py --seconds $(SOAK_SECONDS) $(SOAK_SEED:%=--seed %) \
		$(BUILD)/cay $(BUILD)/tests/crash/soak \
		$(BUILD)/tests/crash/soak_hostile

# Puts faults into a copy of the tree; the tests must find them.
mutate: test-packages
	tools/mutate

# Cay and its peers in one table; make bench QUICK=1 takes two minutes. A peer
# that cannot be installed is named as missing.
bench: provider
	-@tools/install-packages $(PEERS)
	tools/bench --build $(BUILD) $(if $(QUICK),--quick)

# Speed of the network simulator: flit-hops and node-cycles per second.
bench-sim: all
	$(BUILD)/network-speed

# Speed of the device as a machine: work requests per second.
bench-machine: all
	$(BUILD)/machine-speed

# MPI programs over Open MPI, libfabric and Cay.
mpi: provider
	@tools/install-packages $(MPI)
	tools/run-mpi --build $(BUILD)

format: test-packages
	clang-format -i $$(git ls-files '*.c' '*.h')

check-format: test-packages
	clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')

# The documents and the manual pages: build/html/index.html.
html: all
	@tools/install-packages $(HTML_PACKAGES)
	tools/html --build $(BUILD)

install: all
	meson install --no-rebuild -C $(BUILD)
	@cat $(BUILD)/meson-logs/after-install.txt

# Removes what the last 'make install' has installed.
uninstall:
	tools/uninstall $(BUILD)

# Debian packages in $(BUILD)/deb.
deb: build-packages
	@tools/install-packages $(DEB_PACKAGES)
	tools/make-deb $(BUILD)/deb

# Keeps the configuration.
clean:
	[ ! -f $(BUILD)/build.ninja ] || ninja -C $(BUILD) clean

distclean:
	rm -rf $(BUILD)
