/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that the caller has scheduled: packets to send, faults, arrivals at
 * barriers. A binary heap by time; events of the same time keep the order in
 * which they were added.
 */
#ifndef CAY_NETWORK_ENGINE_SCHEDULE_H
#define CAY_NETWORK_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "network/engine/network.h"

enum event_kind {
	EVENT_SEND,
	EVENT_FAULT,
	EVENT_BARRIER_ARRIVE,
	EVENT_BARRIER_RESET,
};

struct scheduled_event {
	uint64_t time;
	uint64_t number; /* in the order of adding */
	enum event_kind kind;
	union {
		struct network_packet packet;
		struct {
			enum network_fault fault;
			uint32_t node;
			unsigned port; /* or the ID of a barrier */
		};
	};
};

struct schedule {
	struct scheduled_event *event;
	uint64_t count, capacity, numbers;
};

/* Adds an event. Returns 0 or -ENOMEM. */
int schedule_add(struct schedule *, const struct scheduled_event *);
/* Removes the first event. Returns false if it is later than `now`. */
bool schedule_pop(struct schedule *, uint64_t now, struct scheduled_event *);
/* Returns the time of the first event, or UINT64_MAX if there is none. */
uint64_t schedule_next(const struct schedule *);
void schedule_free(struct schedule *);

#endif
