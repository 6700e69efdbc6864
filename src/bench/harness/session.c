/* SPDX-License-Identifier: BSD-2-Clause */
/* Sessions: the case that all ranks measure is in shared memory. */
#include "bench/harness/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bench/harness/cores.h"
#include "bench/harness/measurement.h"
#include "bench/harness/payload.h"

#define COMMAND_CASE 0u
#define COMMAND_END  1u
#define LINE_BYTES   256
#define ORDER_BYTES  4096u
/* tools/bench bounds every wait; this only ends what it has left behind. */
#define SESSION_NS (24 * 3600 * CLOCK_NS_PER_S)

static const char *const kind_names[SESSION_KINDS] = { "latency", "rate",
	"put_seen", "put_flush", "get", "fetch_add", "ring", "allreduce",
	"alltoall" };

/* Written by rank 0 before COMMAND_CASE. */
struct order {
	enum session_kind kind;
	size_t bytes;
	unsigned ports;
};

struct session {
	const struct session_peer *peer;
	struct group *group;
	unsigned rank;
	struct order *order; /* shared */
	int fd;		     /* rank 0 */
	FILE *in;
};

/* ---- the case ---- */

/*
 * A slice takes a few milliseconds at most. Of messages that are written before
 * the batch, each is a batch.
 */
static struct sampling sampling_of(const struct order *o, unsigned ranks)
{
	switch (o->kind) {
	case SESSION_RATE:
		return (struct sampling){ 1, 3, 2048, 0, 1 };
	case SESSION_PUT_FLUSH:
	case SESSION_GET:
	case SESSION_FETCH_ADD:
		return (struct sampling){ 1, 8, SESSION_OPERATIONS, 0, 1 };
	case SESSION_RING:
		return (struct sampling){ 1, 3, 2, 0, ranks };
	case SESSION_ALLREDUCE:
	case SESSION_ALLTOALL:
		return (struct sampling){ 1, 3, 20, 0, 1 };
	default:
		break;
	}
	if (o->bytes <= PAYLOAD_SHORT_MAX)
		return (struct sampling){ 2, 8, 32, 0, 2 };
	uint32_t batches = o->bytes <= 16384 ? 16 : o->bytes <= 262144 ? 8 : 3;
	return (struct sampling){ 1, batches, 1, 0, 2 };
}

static struct bench_case session_case(const struct session *s)
{
	const struct order *o = s->order;
	struct bench_case bc =
		case_pinned(kind_names[o->kind], "per operation", o->bytes);

	snprintf(bc.label, sizeof(bc.label), "%s %zu", kind_names[o->kind],
		o->bytes);
	bc.rewrite = o->bytes > PAYLOAD_SHORT_MAX;
	bc.ports = o->ports;
	bc.ranks = s->group->ranks;
	bc.workload[bc.workloads++] = s->peer->workload(o->kind, o->bytes);
	bc.shared_bytes = s->peer->shared_bytes;
	bc.error_text = s->peer->error_text;
	bc.measured = sampling_of(o, s->group->ranks);
	/* L needs a core for each rank; then tools/bench measures it. */
	bc.reference = group_oversubscribed(s->group)
			       ? (struct sampling){ .hops = 2 }
			       : (struct sampling){ 4, 8, 32, 0, 2 };
	case_set_rounds(&bc, 1, 1, 0);
	return bc;
}

size_t session_bytes(const struct session_peer *p)
{
	/* The hand-over has memory as well, which it does not use. */
	return ORDER_BYTES + 2 * p->shared_bytes;
}

/* ---- rank 0 ---- */

/* The other end may have gone. */
__attribute__((format(printf, 2, 3))) static void reply(
	struct session *s, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	send(s->fd, line, bits_min((size_t)length, sizeof(line) - 1),
		MSG_NOSIGNAL);
}

static bool read_line(struct session *s, char line[LINE_BYTES])
{
	return fgets(line, LINE_BYTES, s->in) != NULL;
}

static int reply_failed(struct session *s)
{
	reply(s, "failed %s\n", s->group->page->text);
	return -ECANCELED;
}

/* Returns the median batch. */
static double figure_ns(const struct samples *s)
{
	double ns[64];
	size_t count = 0;

	for (uint32_t i = 0; i < s->count && count < ARRAY_COUNT(ns); i++)
		if (s->at[i].workload == 1)
			ns[count++] = s->at[i].ns;
	return samples_median(ns, count);
}

/* What is used in turn has been used once: entries, descriptors, pages. */
#define WARM_UP_MESSAGES 1200u
#define WARM_UP_BYTES	 (16u << 20)
/* Parts of it, and the time after which the rest is left out. */
#define WARM_UP_PARTS 16u
#define WARM_UP_NS    (300 * CLOCK_NS_PER_MS)

static int lead_warm_up(struct session *s, struct worker *w)
{
	const struct bench_case *bc = w->bc;
	uint32_t messages = (uint32_t)bits_min(
		WARM_UP_MESSAGES, WARM_UP_BYTES / (bc->bytes + 1));
	uint64_t until = clock_after_ns(WARM_UP_NS);
	struct bench_case part = *bc;
	struct samples none = { 0 };
	int r = 0;

	if (group_oversubscribed(s->group))
		return 0;
	part.measured.warm_up =
		1 + messages / WARM_UP_PARTS / bc->measured.iterations;
	part.measured.batches = 0;
	w->bc = &part;
	for (unsigned i = 0; !r && i < WARM_UP_PARTS && !clock_passed(until);
		i++)
		r = worker_lead(w, 1, 0, &none);
	w->bc = bc;
	return r;
}

static int lead_rounds(struct session *s, struct worker *w)
{
	uint32_t capacity = case_samples_max(w->bc);
	struct samples *samples =
		malloc(sizeof(*samples) + capacity * sizeof(samples->at[0]));
	char line[LINE_BYTES];
	int r = samples ? 0 : -ENOMEM;

	while (!r && read_line(s, line) && strcmp(line, "round\n") == 0) {
		struct round round;
		samples->count = 0;
		samples->capacity = capacity;
		r = measurement_round(w, &round, 0, samples);
		worker_pause(w);
		if (!r)
			reply(s, "figure %.3f %.3f %.3f %u\n",
				figure_ns(samples), round.reference_ns[0],
				round.reference_ns[1], round.preemptions);
	}
	worker_stop(w);
	free(samples);
	return r;
}

/* Returns whether there is a case to measure; false at the end. */
static bool lead_order(struct session *s)
{
	char line[LINE_BYTES], kind[16];
	struct order o;

	while (read_line(s, line)) {
		if (sscanf(line, "case %15s %zu %u", kind, &o.bytes,
			    &o.ports) != 3 ||
			o.bytes > SESSION_BYTES_MAX)
			return false;
		o.kind = 0;
		while (o.kind < SESSION_KINDS &&
			strcmp(kind, kind_names[o.kind]) != 0)
			o.kind++;
		if (o.kind < SESSION_KINDS &&
			s->peer->workload(o.kind, o.bytes)) {
			*s->order = o;
			return true;
		}
		reply(s, "none\n");
	}
	return false;
}

static int session_connect(struct session *s, const char *socket_path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", socket_path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0 ||
		connect(s->fd, (struct sockaddr *)&name, sizeof(name)) ||
		!(s->in = fdopen(dup(s->fd), "r")))
		return group_fail(
			s->group, "%s: %s", socket_path, strerror(errno));
	reply(s, "hello %s\n",
		s->peer->version ? s->peer->version : s->peer->name);
	return 0;
}

/* ---- every rank ---- */

/* Returns 1 if there is a case, 0 at the end, or -errno. */
static int next_case(struct session *s)
{
	struct sampling sampling = { 0 };
	uint32_t command;

	group_restart_timeout(s->group);
	s->group->paused = true;
	if (s->rank == 0) {
		command = lead_order(s) ? COMMAND_CASE : COMMAND_END;
		/* What an earlier case has left; shared memory is zero again.
		 */
		if (s->peer->shared_bytes)
			madvise(s->group->area, 2 * s->peer->shared_bytes,
				MADV_REMOVE);
		group_command(s->group, command, &sampling);
	} else {
		int r = group_await_command(s->group, &command, &sampling);
		if (r)
			return r;
	}
	s->group->paused = false;
	return command == COMMAND_CASE;
}

int session_rank(struct group *g, unsigned rank, const struct session_peer *p,
	const char *socket_path)
{
	struct session s = { .peer = p,
		.group = g,
		.rank = rank,
		.order = (struct order *)(void *)g->area };
	int r = rank == 0 ? session_connect(&s, socket_path) : 0;

	g->area += ORDER_BYTES;
	g->timeout_ns = SESSION_NS;
	while (!r && (r = next_case(&s)) > 0) {
		struct bench_case bc = session_case(&s);
		struct worker w;
		r = worker_setup(&w, &bc, g, rank);
		if (!r && rank == 0) {
			r = lead_warm_up(&s, &w);
			worker_pause(&w);
			if (!r) {
				reply(&s, "ready\n");
				r = lead_rounds(&s, &w);
			}
		} else if (!r) {
			r = worker_follow(&w);
		}
		worker_teardown(&w);
		if (rank == 0 && !r)
			reply(&s, "closed\n");
		else if (rank == 0)
			r = reply_failed(&s);
	}
	return r;
}

/* ---- forked ranks ---- */

struct arguments {
	const struct session_peer *peer;
	const char *socket;
};

static int run_rank(struct group *g, unsigned rank, void *argument)
{
	const struct arguments *a = argument;

	return session_rank(g, rank, a->peer, a->socket);
}

int session_main(
	int argc, char **argv, const struct session_peer *all, unsigned peers)
{
	const int any[2] = { -1, -1 };
	int core[2], ranks = argc > 3 ? atoi(argv[3]) : 2;
	struct arguments a = { 0 };
	struct group_job job = {
		.body = run_rank, .argument = &a, .limit_ns = SESSION_NS
	};
	struct group g;

	for (unsigned i = 0; argc > 2 && i < peers; i++)
		if (strcmp(argv[1], all[i].name) == 0)
			a.peer = &all[i];
	if (!a.peer || argc > 4 || ranks < 2 || ranks > (int)GROUP_RANKS_MAX) {
		fprintf(stderr,
			"usage: %s PEER SOCKET [RANKS]; peers:", argv[0]);
		for (unsigned i = 0; i < peers; i++)
			fprintf(stderr, " %s", all[i].name);
		fprintf(stderr, "\n");
		return 2;
	}
	a.socket = argv[2];
	if (cores_select(argv[0], any, core))
		return 1;
	int r = group_open(&g, (unsigned)ranks, core, session_bytes(a.peer));
	if (r) {
		fprintf(stderr, "%s: shared memory: %s\n", argv[0],
			strerror(-r));
		return 1;
	}
	if ((r = group_run(&g, &job)))
		fprintf(stderr, "%s: %s: %s\n", argv[0], argv[1], g.page->text);
	group_close(&g);
	return r ? 1 : 0;
}
