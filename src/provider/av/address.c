/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of endpoints; see address.h. Any thread, no lock. Names of services
 * begin with `s`, random ones with `r`, the wildcard with `a`, so they cannot
 * collide.
 */
#include "provider/av/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "provider/provider.h"

#define CAPABILITY_DIGITS 12

/* Not those of ctype.h, which depend on the locale. */
#define DIGITS "0123456789"
#define LETTERS                      \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Valid in the name of a port. */
static const char name_characters[] = LETTERS DIGITS "._:@+-";

/* ---- names ---- */

int address_random(struct address *a)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[ADDRESS_NAME - 1];
	if (getrandom(random, sizeof(random), GRND_NONBLOCK) !=
		(ssize_t)sizeof(random))
		return -FI_EAGAIN;

	memset(a, 0, sizeof(*a));
	a->name[0] = 'r';
	for (unsigned i = 0; i < sizeof(random); i++)
		a->name[1 + i] = digits[random[i] % 32];
	return 0;
}

void address_any(struct address *a)
{
	*a = (struct address){ .name = "any............." };
}

bool address_is_any(const struct address *a)
{
	struct address any;
	address_any(&any);
	return strcmp(a->name, any.name) == 0;
}

static bool consists_of(const char *kind, const char *text)
{
	return text[strspn(text, kind)] == 0;
}

/*
 * 47 and 047 are the same service. A word has one character less than a number
 * may have, so that a dot always distinguishes it.
 */
int address_service(const char *service, struct address *a)
{
	const size_t length_max = ADDRESS_NAME - 1;
	if (!service || !*service || !consists_of(LETTERS DIGITS, service))
		return -FI_EINVAL;
	bool number = consists_of(DIGITS, service);
	if (number)
		service += strspn(service, "0");
	size_t length = strlen(service);
	if (length == 0)
		return address_random(a);
	if (length > (number ? length_max : length_max - 1))
		return -FI_EINVAL;

	memset(a, 0, sizeof(*a));
	memset(a->name, number ? '0' : '.', ADDRESS_NAME);
	a->name[0] = 's';
	memcpy(a->name + ADDRESS_NAME - length, service, length);
	return 0;
}

/* ---- text ---- */

int address_parse(const void *text, struct address *a)
{
	struct address found = { 0 };
	const char *at = text;
	if (!text ||
		strncmp(at, ADDRESS_PREFIX, sizeof(ADDRESS_PREFIX) - 1) != 0)
		return -FI_EINVAL;
	at += sizeof(ADDRESS_PREFIX) - 1;
	for (unsigned i = 0; i < ADDRESS_NAME; i++, at++) {
		if (!*at || !strchr(name_characters, *at))
			return -FI_EINVAL;
		found.name[i] = *at;
	}
	/*
	 * Exactly 12 digits and a 0: strtoull() alone would accept a sign, and
	 * strspn() alone could read beyond ADDRESS_BYTES.
	 */
	if (*at++ != '-' ||
		memchr(at, 0, CAPABILITY_DIGITS + 1) !=
			at + CAPABILITY_DIGITS ||
		strspn(at, DIGITS "abcdefABCDEF") != CAPABILITY_DIGITS)
		return -FI_EINVAL;
	found.capability = strtoull(at, NULL, 16);
	*a = found;
	return 0;
}

void address_print(const struct address *a, char text[ADDRESS_BYTES])
{
	snprintf(text, ADDRESS_BYTES, ADDRESS_PREFIX "%.*s-%012llx",
		ADDRESS_NAME, a->name,
		(unsigned long long)(a->capability & CAY_CAPABILITY_MASK));
}

/* ---- hosts ---- */

/* Converts an address to IPv6; IPv4 addresses are mapped. */
static bool as_inet6(const struct sockaddr *from, struct in6_addr *to)
{
	if (from && from->sa_family == AF_INET6) {
		memcpy(to,
			&((const struct sockaddr_in6 *)(const void *)from)
				 ->sin6_addr,
			sizeof(*to));
		return true;
	}
	if (!from || from->sa_family != AF_INET)
		return false;
	memset(to, 0, sizeof(*to));
	to->s6_addr[10] = to->s6_addr[11] = 0xff;
	memcpy(&to->s6_addr[12],
		&((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
	return true;
}

static bool is_loopback_or_any(const struct in6_addr *a)
{
	static const unsigned char any4[4];
	if (IN6_IS_ADDR_V4MAPPED(a))
		return a->s6_addr[12] == 127 ||
		       memcmp(&a->s6_addr[12], any4, sizeof(any4)) == 0;
	return IN6_IS_ADDR_LOOPBACK(a) || IN6_IS_ADDR_UNSPECIFIED(a);
}

static bool is_of_interface(const struct in6_addr *a)
{
	struct ifaddrs *all;
	bool found = false;
	if (getifaddrs(&all) != 0)
		return false;
	for (struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		struct in6_addr own;
		found = as_inet6(i->ifa_addr, &own) &&
			memcmp(&own, a, sizeof(own)) == 0;
	}
	freeifaddrs(all);
	return found;
}

/* Returns whether a name resolves to this host; *known: it resolves at all. */
static bool resolves_here(const char *node, int flags, bool *known)
{
	struct addrinfo hints = { .ai_flags = flags,
		.ai_socktype = SOCK_STREAM };
	struct addrinfo *all;
	bool here = false;
	*known = getaddrinfo(node, NULL, &hints, &all) == 0;
	if (!*known)
		return false;
	for (struct addrinfo *i = all; i && !here; i = i->ai_next) {
		struct in6_addr a;
		here = as_inet6(i->ai_addr, &a) &&
		       (is_loopback_or_any(&a) || is_of_interface(&a));
	}
	freeaddrinfo(all);
	return here;
}

/* A name server is the last resort. */
bool address_host_is_here(const char *node, bool numeric)
{
	char own[256] = "";
	bool known;
	if (!node)
		return true;
	if (!*node)
		return false;
	if (resolves_here(node, AI_NUMERICHOST, &known))
		return true;
	if (known || numeric)
		return false;
	gethostname(own, sizeof(own) - 1);
	return strcasecmp(node, "localhost") == 0 ||
	       strcasecmp(node, own) == 0 || resolves_here(node, 0, &known);
}
