# On Debian, each target first installs the missing packages that it needs.

PACKAGES = gcc g++ clang meson ninja-build pkg-config libcmocka-dev spin \
	clang-format libclang-rt-14-dev libfabric-dev libfabric-bin mandoc \
	python3 procps
BUILD ?= build

# For tests that are skipped without it.
TEST_PACKAGES = valgrind

# For comparisons with other implementations of RMA and of messages.
PEERS = openmpi-bin libopenmpi-dev mpich libmpich-dev
FABRIC_PEERS = libfabric-dev libfabric-bin openmpi-bin libopenmpi-dev

# For the documents as HTML.
HTML = lowdown mandoc python3

# For MPI programs over Cay.
MPI = openmpi-bin libopenmpi-dev hpcc

.PHONY: all demo test test-sanitize soak mutate bench bench-rma bench-sim mpi format \
	check-format html install clean packages

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

packages:
	@tools/install-packages $(PACKAGES)

$(BUILD)/build.ninja: | packages
	meson setup $(BUILD)

demo: all
	$(BUILD)/cay demo

test: all check-format
	@tools/install-packages $(TEST_PACKAGES)
	tools/run-tests $(BUILD)

# Runs the tests with gcc and clang, under ASan+UBSan and under TSan.
test-sanitize: packages
	tools/run-sanitizers

# Kills clients and nodes at random next to hostile members of another realm.
SOAK_SECONDS ?= 60
soak: all
	tests/crash/soak.py --seconds $(SOAK_SECONDS) $(SOAK_SEED:%=--seed %) \
		$(BUILD)/cay $(BUILD)/tests/crash/soak \
		$(BUILD)/tests/crash/soak_hostile

# Puts faults into a copy of the tree; the tests must find them.
mutate: packages
	tools/mutate

# Cay alone, then libfabric and MPI over Cay next to their own transports.
bench: all
	@tools/install-packages $(FABRIC_PEERS)
	$(BUILD)/cay bench; status=$$?; \
	tools/bench-fabric --build $(BUILD) && exit $$status

# RMA operations of Cay, Open MPI and MPICH in one run.
bench-rma: all
	@tools/install-packages $(PEERS)
	tools/bench-rma --build $(BUILD)

# Speed of the network simulator: flit-hops and node-cycles per second.
bench-sim: all
	$(BUILD)/network-speed

# MPI programs over Open MPI, libfabric and Cay.
mpi: all
	@tools/install-packages $(MPI)
	tools/run-mpi --build $(BUILD)

format: packages
	clang-format -i $$(git ls-files '*.c' '*.h')

check-format: packages
	clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')

# The documents and the manual pages: build/html/index.html.
html: all
	@tools/install-packages $(HTML)
	tools/html --build $(BUILD)

install: all
	meson install -C $(BUILD)

clean:
	rm -rf $(BUILD)
