# Everything starts here, on a fresh Debian machine too: each target installs
# the packages that it needs and are not there.

PACKAGES = gcc g++ clang meson ninja-build pkg-config libcmocka-dev spin \
	clang-format libclang-rt-14-dev libfabric-dev libfabric-bin mandoc \
	python3 procps
BUILD ?= build

# Only for comparisons: of one-sided operations, and of messages.
PEERS = openmpi-bin libopenmpi-dev mpich libmpich-dev
FABRIC_PEERS = libfabric-dev libfabric-bin openmpi-bin libopenmpi-dev

# Only for MPI programs over Cay.
MPI = openmpi-bin libopenmpi-dev hpcc

.PHONY: all demo test test-sanitize bench bench-rma bench-sim mpi format \
	check-format install clean packages

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

packages:
	@tools/install-packages $(PACKAGES)

$(BUILD)/build.ninja: | packages
	meson setup $(BUILD)

demo: all
	$(BUILD)/cay demo

test: all check-format
	tools/run-tests $(BUILD)

# The suites again with gcc and clang, under ASan+UBSan and under TSan.
test-sanitize: packages
	tools/run-sanitizers

# Cay by itself, then below libfabric and MPI beside what they have.
bench: all
	@tools/install-packages $(FABRIC_PEERS)
	$(BUILD)/cay bench; status=$$?; \
	tools/bench-fabric --build $(BUILD) && exit $$status

# Cay's one-sided operations beside those of Open MPI and MPICH, in one run.
bench-rma: all
	@tools/install-packages $(PEERS)
	tools/bench-rma --build $(BUILD)

# The simulated interconnect: flit-hops and node-cycles per second.
bench-sim: all
	$(BUILD)/network-speed

# Real MPI programs over Open MPI, libfabric and Cay.
mpi: all
	@tools/install-packages $(MPI)
	tools/run-mpi --build $(BUILD)

format: packages
	clang-format -i $$(git ls-files '*.c' '*.h')

check-format: packages
	clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')

install: all
	meson install -C $(BUILD)

clean:
	rm -rf $(BUILD)
