/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote memory: a child process writes and reads memory of its parent through
 * a window while the parent does nothing, and the window refuses accesses that
 * its key does not permit.
 *
 *	cc remote.c -o remote $(pkg-config --cflags --libs cay) && ./remote
 */
#include "example.h"

#include <string.h>

#define BYTES  65536
#define TEXT   "put here by the child"
#define RESULT "put HERE by the child"

/*
 * A refused access returns 0 like any other and always has a completion, which
 * contains the error.
 */
static int refused(struct cay_port *port, struct cay_peer *owner,
	struct cay_key key, uint64_t offset, enum cay_error expected)
{
	check("cay_put", cay_put(port, owner, key, offset, "no", 2, 1, 0));
	struct cay_event event = next_event(port);
	int valid = event.kind == CAY_EVENT_COMPLETE &&
		    event.error == (int)expected;
	printf("child:  refused: %s\n", cay_error_text((unsigned)event.error));
	cay_release(port, &event);
	return valid;
}

static int child(struct cay_addr address, struct cay_key writable,
	struct cay_key readable)
{
	static char data[BYTES], back[BYTES];
	struct cay_port *port = port_open(NULL);
	struct cay_peer *owner;

	check("cay_peer_resolve", cay_peer_resolve(port, address, &owner));

	/* Accesses to one peer take effect in the order of issue. */
	for (size_t i = 0; i < BYTES; i++)
		data[i] = (char)(i * 7);
	check("cay_put", cay_put(port, owner, writable, 0, data, BYTES, 0, 0));
	check("cay_get", cay_get(port, owner, readable, 0, back, BYTES, 0, 0));
	check("cay_put",
		cay_put(port, owner, writable, 0, TEXT, sizeof(TEXT), 0, 0));
	/* Bytes 4 to 7 of the first word. */
	check("cay_put_masked", cay_put_masked(port, owner, writable, 0,
					0x4552454800000000, 0xf0, 0, 0));
	/* After the flush all of it is complete, at the target and here. */
	check("cay_flush", cay_flush(port, owner, deadline()));
	int valid = memcmp(data, back, BYTES) == 0;
	printf("child:  %d bytes written and read back: %s\n", BYTES,
		valid ? "equal" : "different");

	struct cay_key wrong = writable;
	wrong.capability ^= 1;
	valid &= refused(port, owner, wrong, 0, CAY_ERROR_CAPABILITY);
	valid &= refused(port, owner, readable, 0, CAY_ERROR_RIGHTS);
	valid &= refused(
		port, owner, writable, BYTES - 1, CAY_ERROR_TARGET_BOUNDS);
	cay_peer_release(owner);
	check("cay_port_close", cay_port_close(port));
	return !valid;
}

int main(void)
{
	struct cay_port *port = port_open(NULL);
	struct cay_window *writable, *readable;
	struct cay_key writable_key, readable_key;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Peers access memory of cay_alloc() directly. */
	char *memory = memory_alloc(port, BYTES);
	check("cay_window_open",
		cay_window_open(port, memory, BYTES,
			CAY_RIGHT_WRITE | CAY_RIGHT_NOTIFY_REFUSAL, &writable));
	check("cay_window_open", cay_window_open(port, memory, BYTES,
					 CAY_RIGHT_READ, &readable));
	/* Keys are plain data; here the child inherits them. */
	check("cay_window_key", cay_window_key(writable, &writable_key));
	check("cay_window_key", cay_window_key(readable, &readable_key));

	if (child_start() == 0)
		exit(child(cay_port_addr(port), writable_key, readable_key));
	if (children_wait())
		return 1;
	printf("parent: memory contains \"%s\"\n", memory);
	int failed = strcmp(memory, RESULT) != 0;

	/* CAY_RIGHT_NOTIFY_REFUSAL: the owner is notified of refusals. */
	struct cay_event event = next_event(port);
	failed |= event.kind != CAY_EVENT_ACCESS || !event.error;
	printf("parent: notified of a refusal: %s\n",
		cay_error_text((unsigned)event.error));
	cay_release(port, &event);

	/* When this returns, no access is in progress. */
	check("cay_window_close", cay_window_close(writable));
	check("cay_window_close", cay_window_close(readable));
	cay_free(port, memory);
	check("cay_port_close", cay_port_close(port));
	return failed;
}
