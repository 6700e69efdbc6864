/* SPDX-License-Identifier: BSD-2-Clause */
/* The scenes of `cay demo` that are not programs of examples/. */
#ifndef CAY_CLI_DEMO_H
#define CAY_CLI_DEMO_H

#include <stdbool.h>

/*
 * Measures and prints the latency of messages. Returns false if a measurement
 * failed; figures that are missing because of other load are not a failure.
 */
bool demo_latency(void);

#endif
