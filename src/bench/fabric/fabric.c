/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What messages take over providers of libfabric, one beside the other, with
 * nothing but libfabric's public calls. tools/bench-fabric builds it, starts
 * it again and again, and reads the one line of JSON that it prints.
 *
 * The first process starts one for each rank, waits for both, and ends the
 * other when one fails, or both when they take too long.
 *
 * Exit status: 0 done, 1 failed, 2 wrong usage.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/fabric/kinds.h"
#include "bench/fabric/result.h"
#include "bench/fabric/traffic.h"
#include "bench/harness/tick.h"

enum {
	SECONDS_MAX = 120,
	SECONDS_GENTLE = 1,
};

static const char usage[] =
	"usage: fabric --provider NAME [--provider NAME ...] [--kind NAME]\n"
	"              [--quick]\n"
	"  --provider  of libfabric, e.g. shm; up to three take turns\n"
	"  --kind      only this kind of traffic, e.g. inject_8\n"
	"  --quick     few samples\n";

struct options {
	const char *providers[CARRIERS_MAX];
	unsigned provider_count;
	const char *kind; /* NULL: all */
	bool quick;
};

/* ---- one rank ---- */

struct rank {
	const struct options *options;
	struct seat seat;
	struct pool pool;
	struct link links[CARRIERS_MAX];
	struct carrier carriers[CARRIERS_MAX];
	unsigned open;
};

static int rank_open(struct rank *rank)
{
	int r = seat_pin(&rank->seat);

	if (r || (r = pool_open(&rank->pool)))
		return r;
	if (rank->seat.rank == 0)
		rank->seat.tick_ns = tick_calibrate_ns();
	for (; rank->open < rank->options->provider_count; rank->open++) {
		struct link *l = &rank->links[rank->open];
		r = link_open(l, rank->options->providers[rank->open],
			&rank->seat, &rank->pool);
		if (r)
			return r;
		rank->carriers[rank->open] = traffic_carrier(l);
	}
	return 0;
}

static void rank_close(struct rank *rank)
{
	seat_meet(&rank->seat); /* nobody needs the other any more */
	while (rank->open)
		link_close(&rank->links[--rank->open]);
	pool_close(&rank->pool);
}

static int rank_trial(struct rank *rank, const struct kind *kind, bool first)
{
	struct trial trial;
	int r = trial_run(
		&trial, &rank->seat, kind, rank->carriers, rank->open);

	if (!r && rank->seat.rank == 0) {
		printf("%s", first ? "" : ",");
		r = result_print(&trial, rank->carriers);
	}
	trial_free(&trial);
	return r;
}

static int rank_trials(struct rank *rank)
{
	const char *only = rank->options->kind;
	struct kind kinds[KIND_COUNT];
	bool first = true;
	int r = 0;

	kinds_list(kinds, rank->options->quick);
	for (int i = 0; !r && i < KIND_COUNT; i++) {
		if (only && strcmp(only, kinds[i].name) != 0)
			continue;
		r = rank_trial(rank, &kinds[i], first);
		first = false;
	}
	return r;
}

static _Noreturn void rank_main(
	const struct options *options, struct board *board, int number)
{
	static struct rank rank;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	rank.options = options;
	rank.seat = (struct seat){ .board = board, .rank = number };
	if (rank_open(&rank))
		exit(1);
	if (number == 0)
		printf("{\"libfabric\":\"%u.%u\",\"kinds\":{",
			FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	int r = rank_trials(&rank);
	if (number == 0 && !r)
		printf("}}\n");
	if (r) {
		fprintf(stderr, "fabric: rank %d: %s\n", number, strerror(-r));
		_exit(1);
	}
	rank_close(&rank);
	exit(0);
}

/* ---- both ---- */

static pid_t children[2];

/* Gently at first: shm then takes its files away. Some never end by that. */
static void children_end(int number)
{
	static int with = SIGTERM;

	(void)number;
	for (int i = 0; i < 2; i++)
		if (children[i] > 0)
			kill(children[i], with);
	with = SIGKILL;
	alarm(SECONDS_GENTLE);
}

static int children_start(const struct options *options)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (board == MAP_FAILED)
		return -errno;
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (children[i] == 0)
			rank_main(options, board, i);
		if (children[i] < 0) {
			int r = -errno;
			children_end(0);
			children_end(0);
			return r;
		}
	}
	return 0;
}

static int children_wait(void)
{
	int failed = 0;

	signal(SIGALRM, children_end);
	alarm(SECONDS_MAX);
	for (int left = 2; left; left--) {
		int status;
		pid_t pid = wait(&status);
		if (pid == children[0])
			children[0] = 0;
		else
			children[1] = 0;
		if (status == 0)
			continue;
		if (!failed++ && WIFSIGNALED(status))
			fprintf(stderr, "fabric: ended by signal %d\n",
				WTERMSIG(status));
		children_end(0);
	}
	return failed ? 1 : 0;
}

/* ---- the command ---- */

static bool kind_exists(const char *name)
{
	struct kind kinds[KIND_COUNT];

	kinds_list(kinds, false);
	for (int i = 0; i < KIND_COUNT; i++)
		if (strcmp(name, kinds[i].name) == 0)
			return true;
	return false;
}

static bool options_one(struct options *o, int option)
{
	switch (option) {
	case 'p':
		if (o->provider_count == CARRIERS_MAX)
			return false;
		o->providers[o->provider_count++] = optarg;
		return true;
	case 'k':
		o->kind = optarg;
		return kind_exists(optarg);
	case 'q':
		o->quick = true;
		return true;
	default:
		return false;
	}
}

static bool options_read(struct options *o, int argc, char **argv)
{
	static const struct option all[] = {
		{ "provider", required_argument, NULL, 'p' },
		{ "kind", required_argument, NULL, 'k' },
		{ "quick", no_argument, NULL, 'q' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", all, NULL)) != -1)
		if (!options_one(o, option))
			return false;
	return optind == argc && o->provider_count;
}

int main(int argc, char **argv)
{
	struct options options = { 0 };

	if (!options_read(&options, argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	int r = children_start(&options);
	if (r) {
		fprintf(stderr, "fabric: %s\n", strerror(-r));
		return 1;
	}
	return children_wait();
}
