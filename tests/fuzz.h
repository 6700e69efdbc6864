/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The main program of a fuzzer without libFuzzer: runs random inputs, or those
 * in files. Included after LLVMFuzzerTestOneInput().
 *
 *	fuzz_request [COUNT | FILE ...]
 */
#ifndef CAY_TESTS_FUZZ_H
#define CAY_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int fuzz_file(const char *path)
{
	static uint8_t bytes[1 << 16];
	FILE *f = fopen(path, "re");
	if (!f) {
		perror(path);
		return 1;
	}
	size_t count = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	return LLVMFuzzerTestOneInput(bytes, count);
}

static uint64_t fuzz_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Each input has its own seed, so that it can be repeated alone. */
static void fuzz_run(uint64_t seed, unsigned long count)
{
	static uint8_t bytes[FUZZ_INPUT_MAX];
	for (unsigned long i = 0; i < count; i++) {
		uint64_t state = (seed + i) * 0x9e3779b97f4a7c15ull | 1;
		size_t length = fuzz_random(&state) % sizeof(bytes);
		for (size_t j = 0; j < length; j++)
			bytes[j] = (uint8_t)(fuzz_random(&state) >> 32);
		if (i % 1024 == 0) {
			printf("CAY_SEED=%llu\n", (unsigned long long)seed + i);
			fflush(stdout);
		}
		LLVMFuzzerTestOneInput(bytes, length);
	}
}

/* Runs `count` random inputs from CAY_SEED, or `seed`, on; or the arguments. */
static int fuzz_main(int argc, char **argv, uint64_t seed, unsigned long count)
{
	const char *given = getenv("CAY_SEED");
	char *end = NULL;
	if (given)
		seed = strtoull(given, NULL, 0);
	if (argc > 1)
		count = strtoul(argv[1], &end, 0);
	if (argc == 1 || *end == 0) {
		fuzz_run(seed, count);
		return 0;
	}
	int failed = 0;
	for (int i = 1; i < argc; i++)
		failed |= fuzz_file(argv[i]);
	return failed;
}

#endif
