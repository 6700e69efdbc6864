/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The address of an endpoint, as applications exchange it: a string of fixed
 * length,
 *
 *	fi_cay://<name, 16 characters>-<card, 12 hexadecimal digits>
 *
 * The name is that of the endpoint's port and never comes twice, unless the
 * application asked for a service: then it is made from that. The card is the
 * capability of the window with the endpoint's keys (key_table.h); 0 where it
 * is not known, as in an address made from node and service.
 */
#ifndef CAY_PROVIDER_ADDRESS_H
#define CAY_PROVIDER_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define ADDRESS_PREFIX "fi_cay://"
#define ADDRESS_NAME   16 /* characters */
/* Of the text, with its 0. */
#define ADDRESS_BYTES (sizeof(ADDRESS_PREFIX) - 1 + ADDRESS_NAME + 1 + 12 + 1)

struct address {
	char name[ADDRESS_NAME + 1];
	uint64_t card; /* 48 bits; 0: not known */
};

/* A name that nobody has. 0 or -FI_EAGAIN (no random numbers yet). */
int address_random(struct address *);
/*
 * The source of an info that names none, as one must be there: an endpoint
 * opened with it gets a random name. No endpoint ever has this one.
 */
void address_any(struct address *);
bool address_is_any(const struct address *);
/*
 * From a service: a number, or a word of at most 14 letters and digits; 0 is
 * any that is free. 0, -FI_EINVAL, or as address_random().
 */
int address_service(const char *service, struct address *);
/* Reads up to ADDRESS_BYTES, not beyond a 0. 0 or -FI_EINVAL. */
int address_parse(const void *text, struct address *);
void address_print(const struct address *, char text[ADDRESS_BYTES]);
/*
 * Is it this host, by whatever name? NULL is. May ask a name server, unless
 * numeric.
 */
bool address_host_is_here(const char *node, bool numeric);

#endif
