# Everything starts here, on a fresh Debian machine too: each target installs
# the packages that it needs and are not there.

PACKAGES = gcc g++ clang meson ninja-build pkg-config libcmocka-dev spin \
	clang-format libclang-rt-14-dev libfabric-dev libfabric-bin mandoc \
	python3 procps
BUILD ?= build

# Only for the comparison with other implementations of one-sided operations.
PEERS = openmpi-bin libopenmpi-dev mpich libmpich-dev

.PHONY: all demo test test-sanitize bench bench-rma format check-format \
	install clean packages

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

bench: all
	$(BUILD)/cay bench

# Cay's one-sided operations beside those of Open MPI and MPICH, in one run.
bench-rma: all
	@tools/install-packages $(PEERS)
	tools/bench-rma --build $(BUILD)

format: packages
	clang-format -i $$(git ls-files '*.c' '*.h')

check-format: packages
	clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')

install: all
	meson install -C $(BUILD)

clean:
	rm -rf $(BUILD)
