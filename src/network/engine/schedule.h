/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is to happen at a time, from outside: packets that are sent by hand,
 * faults, arrivals at barriers. A heap; of two at the same time, the one that
 * was put in first comes first.
 */
#ifndef CAY_NETWORK_ENGINE_SCHEDULE_H
#define CAY_NETWORK_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "network/engine/network.h"

enum agenda_kind {
	AGENDA_SEND,
	AGENDA_FAULT,
	AGENDA_BARRIER_ARRIVE,
	AGENDA_BARRIER_RESET,
};

struct agenda_item {
	uint64_t time;
	uint64_t number; /* in order of putting in */
	enum agenda_kind kind;
	union {
		struct network_packet packet;
		struct {
			enum network_fault fault;
			uint32_t node;
			unsigned port; /* or the number of a barrier */
		};
	};
};

struct agenda {
	struct agenda_item *item;
	uint64_t count, room, numbers;
};

/* 0 or -ENOMEM. */
int agenda_put(struct agenda *, const struct agenda_item *);
/* The first one, if its time has come. */
bool agenda_take(struct agenda *, uint64_t now, struct agenda_item *);
/* When the first one is; UINT64_MAX: there is none. */
uint64_t agenda_next(const struct agenda *);
void agenda_free(struct agenda *);

#endif
