/* SPDX-License-Identifier: BSD-2-Clause */
/* See wire.h. */
#include "device/machine/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WIRE_PACKETS   64 /* of each source */
#define WIRE_RESPONSES 16 /* of them, only for responses */

struct wire_packet {
	uint32_t node; /* destination */
	bool response;
	uint64_t due;
	size_t size;
	unsigned char *bytes; /* PACKET_BYTES_MAX(mtu) */
};

/* One per source; its packets in the order in which they were sent. */
struct wire_source {
	struct wire_port port;
	struct wire *wire;
	bool cut;
	uint32_t count, requests;
	struct wire_packet packet[WIRE_PACKETS];
};

struct wire {
	struct machine **machines;
	struct wire_source *sources;
	uint32_t count;
	uint32_t delay_max;
	uint64_t random, now, packets;
};

static bool wire_send(struct wire_port *port, uint32_t node, bool response,
	const void *bytes, size_t size)
{
	struct wire_source *s = (struct wire_source *)port;
	struct wire *w = s->wire;
	if (s->cut)
		return true;
	/* Responses never wait for requests, or two nodes would deadlock. */
	if (s->count == WIRE_PACKETS ||
		(!response && s->requests == WIRE_PACKETS - WIRE_RESPONSES))
		return false;
	s->requests += !response;
	struct wire_packet *p = &s->packet[s->count++];
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	p->node = node;
	p->response = response;
	p->due = w->now + 1 + (w->random >> 33) % (w->delay_max + 1);
	p->size = size;
	memcpy(p->bytes, bytes, size);
	w->packets++;
	return true;
}

/* Returns true if an earlier packet goes the same way. */
static bool wire_behind(const struct wire_source *s, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (s->packet[k].node == s->packet[i].node &&
			s->packet[k].response == s->packet[i].response)
			return true;
	return false;
}

static bool wire_deliver(struct wire *w, const struct wire_packet *p)
{
	if (p->node == 0 || p->node > w->count || w->sources[p->node - 1].cut)
		return true; /* lost: the node is gone */
	return machine_receive(w->machines[p->node - 1], p->bytes, p->size) !=
	       -EAGAIN;
}

bool wire_step(struct wire *w)
{
	bool some = false;
	w->now++;
	for (uint32_t n = 0; n < w->count; n++) {
		/* The first one changes: none is always before the others. */
		struct wire_source *s = &w->sources[(n + w->now) % w->count];
		for (uint32_t i = 0; i < s->count; i++) {
			struct wire_packet p = s->packet[i];
			if (p.due > w->now || wire_behind(s, i) ||
				!wire_deliver(w, &p))
				continue;
			s->requests -= !p.response;
			memmove(&s->packet[i], &s->packet[i + 1],
				(s->count - i - 1) * sizeof(p));
			s->packet[--s->count] = p; /* keeps its buffer */
			i--;
		}
		some |= s->count != 0;
	}
	return some;
}

void wire_cut(struct wire *w, uint32_t node)
{
	w->sources[node - 1].cut = true;
	w->sources[node - 1].count = w->sources[node - 1].requests = 0;
}

uint64_t wire_packets(const struct wire *w)
{
	return w->packets;
}

int wire_open(struct wire **out, struct machine *const *machines,
	uint32_t count, uint32_t delay_max, uint64_t seed)
{
	struct wire *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->count = count;
	w->delay_max = delay_max;
	w->random = seed;
	w->machines = calloc(count, sizeof(*w->machines));
	w->sources = calloc(count, sizeof(*w->sources));
	if (!w->machines || !w->sources)
		goto err;
	for (uint32_t n = 0; n < count; n++) {
		struct wire_source *s = &w->sources[n];
		uint32_t mtu = machine_configuration(machines[n])->mtu;
		w->machines[n] = machines[n];
		s->port.send = wire_send;
		s->wire = w;
		for (uint32_t i = 0; i < WIRE_PACKETS; i++) {
			s->packet[i].bytes = malloc(PACKET_BYTES_MAX(mtu));
			if (!s->packet[i].bytes)
				goto err;
		}
		machine_connect(machines[n], &s->port);
	}
	*out = w;
	return 0;
err:
	wire_close(w);
	return -ENOMEM;
}

void wire_close(struct wire *w)
{
	if (!w)
		return;
	for (uint32_t n = 0; w->sources && n < w->count; n++)
		for (uint32_t i = 0; i < WIRE_PACKETS; i++)
			free(w->sources[n].packet[i].bytes);
	free(w->machines);
	free(w->sources);
	free(w);
}
