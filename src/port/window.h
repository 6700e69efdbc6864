/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows of this process inside the library. */
#ifndef CAY_PORT_WINDOW_H
#define CAY_PORT_WINDOW_H

#include <string.h>

#include "cay/window.h"
#include "port/port.h"

/* Returns true if the Win-ID is in range and reserved bits are 0. */
static inline bool key_valid(struct cay_key key)
{
	/* Both are in one word, so that one comparison checks them. */
	uint64_t words[2];
	CAY_STATIC_ASSERT(sizeof(key) == sizeof(words), "two words");
	memcpy(words, &key, sizeof(key));
	return words[1] <= UINT16_MAX;
}

/* Returns the refusals since the last call. The consuming thread. */
uint64_t window_refusals(struct cay_port *, uint32_t window);

/* Closes the windows on this memory. Returns as cay_window_close(). */
int windows_close_on(struct cay_port *, const void *memory, uint64_t bytes);

/* Frees the tables and all window handles; the port is closed. */
void windows_free(struct cay_port *);

/* Returns a request of the port about a window of a peer. */
struct node_request window_request(struct cay_port *, const struct cay_peer *,
	struct cay_key, uint32_t kind);

/* Frees the list of mapped windows; the arena is unmapped. */
void window_mappings_discard(struct member *);

/*
 * Waits until no access to the window is in progress (1 + Win-ID; 0: to any
 * memory of the port). Returns 0, -ETIMEDOUT, -ENOTCONN, or -EOPNOTSUPP (no
 * membarrier(2)).
 */
int port_quiesce(struct cay_port *, uint32_t window);

#endif
