/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trial: one kind of traffic over every carrier in turn, in short slices
 * with the bare hand-over before and after each. Both processes walk through
 * it together; rank 0 holds the watch. Knows neither libfabric nor MPI.
 */
#ifndef CAY_BENCH_FABRIC_TRIAL_H
#define CAY_BENCH_FABRIC_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/fabric/board.h"
#include "bench/harness/round.h"
#include "bench/harness/samples.h"

enum {
	CARRIERS_MAX = ROUND_REFERENCES_MAX - 1,
	TRIAL_TRIPS_MAX = 64, /* of a batch, if each is timed too */
};

enum form {
	FORM_PING,   /* there and back, one at a time */
	FORM_STREAM, /* to rank 1, which answers the last */
};

struct kind {
	const char *name;
	enum form form;
	bool inject; /* the sender has its buffer back at once */
	bool fresh;  /* sources are written anew before each batch */
	bool each;   /* in one more batch, each trip is timed by itself */
	size_t bytes;
	unsigned count;	  /* trips or messages of a batch */
	unsigned window;  /* under way at once */
	unsigned batches; /* of a slice, after one that does not count */
	unsigned slices;
};

/* What carries messages. Both processes make the same calls. */
struct carrier {
	const char *name;
	void *state;
	/* What must be posted and written before the other side begins. */
	int (*prepare)(void *, const struct kind *, uint64_t number);
	/*
	 * A batch; its messages are numbered from there on. If stamps are
	 * wanted, notes the time after each trip.
	 */
	int (*run)(
		void *, const struct kind *, uint64_t number, uint64_t *stamps);
	/* Makes progress; what was sent may need it. */
	int (*progress)(void *);
	/* Whether everything has come. */
	int (*check)(void *, const struct kind *, uint64_t number);
};

/* What rank 0 has of a trial. */
struct trial {
	const struct kind *kind;
	struct round *rounds; /* one for each slice */
	struct samples *log;  /* its workloads are the carriers */
	unsigned carriers, kept;
};

/* 0, -ENOMEM, or what a carrier said. */
int trial_run(struct trial *, struct seat *, const struct kind *,
	const struct carrier *, unsigned carriers);
void trial_free(struct trial *);

#endif
