/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The address of an endpoint, as applications exchange it: a string of fixed
 * length,
 *
 *	fi_cay://<name, 16 characters>-<capability, 12 hexadecimal digits>
 *
 * The name is that of the endpoint's port. It is unique, unless the application
 * requested a service: then it is derived from that. The capability is that of
 * the window with the endpoint's key table (key_table.h), or 0 if it is not
 * known, as in an address derived from node and service.
 */
#ifndef CAY_PROVIDER_ADDRESS_H
#define CAY_PROVIDER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_PREFIX "fi_cay://"
#define ADDRESS_NAME   16 /* characters */
/* Of the text, with the terminating 0. */
#define ADDRESS_BYTES (sizeof(ADDRESS_PREFIX) - 1 + ADDRESS_NAME + 1 + 12 + 1)

struct address {
	char name[ADDRESS_NAME + 1];
	uint64_t capability; /* of the key-table window; 0: not known */
};

/* Makes a unique name. Returns 0 or -FI_EAGAIN (no random numbers yet). */
int address_random(struct address *);
/*
 * The wildcard: source address of an info without one. An endpoint that is
 * opened with it gets a random name.
 */
void address_any(struct address *);
bool address_is_any(const struct address *);
/*
 * Derives the address of a service: a number, or a word of at most 14 letters
 * and digits; 0 stands for a random one. Returns 0, -FI_EINVAL, or as
 * address_random().
 */
int address_service(const char *service, struct address *);
/* Reads up to ADDRESS_BYTES, not beyond a 0. Returns 0 or -FI_EINVAL. */
int address_parse(const void *text, struct address *);
void address_print(const struct address *, char text[ADDRESS_BYTES]);
/*
 * Returns true if a name or address is that of this host; NULL is. May query a
 * name server, unless numeric.
 */
bool address_host_is_here(const char *node, bool numeric);

#endif
