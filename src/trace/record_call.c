/* SPDX-License-Identifier: BSD-2-Clause */
/* See record_call.h. */
#include "trace/record_call.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "trace/bytes.h"
#include "trace/record_log.h"

struct real_calls real;

static const struct {
	const char *name;
	void *at;
} names[] = {
	{ "cay_port_open", &real.port_open },
	{ "cay_port_close", &real.port_close },
	{ "cay_port_addr", &real.port_addr },
	{ "cay_peer_resolve", &real.peer_resolve },
	{ "cay_peer_lookup", &real.peer_lookup },
	{ "cay_peer_release", &real.peer_release },
	{ "cay_peer_addr", &real.peer_addr },
	{ "cay_send", &real.send },
	{ "cay_send_tagged", &real.send_tagged },
	{ "cay_sendv_tagged", &real.sendv_tagged },
	{ "cay_send_wait", &real.send_wait },
	{ "cay_send_burst", &real.send_burst },
	{ "cay_reply", &real.reply },
	{ "cay_poll", &real.poll },
	{ "cay_put", &real.put },
	{ "cay_put_masked", &real.put_masked },
	{ "cay_get", &real.get },
	{ "cay_fetch_add", &real.fetch_add },
	{ "cay_fetch_add_into", &real.fetch_add_into },
	{ "cay_compare_swap", &real.compare_swap },
	{ "cay_compare_swap_into", &real.compare_swap_into },
	{ "cay_flush", &real.flush },
	{ "cay_window_open", &real.window_open },
	{ "cay_window_close", &real.window_close },
	{ "cay_window_key", &real.window_key },
	{ "cay_window_revoke", &real.window_revoke },
	{ "cay_window_lock", &real.window_lock },
	{ "cay_window_unlock", &real.window_unlock },
	{ "cay_receive_mode", &real.receive_mode },
	{ "cay_receive_post", &real.receive_post },
	{ "cay_receive_cancel", &real.receive_cancel },
};

static bool real_complete;
static uintptr_t real_start, real_end; /* mapping of libcay */
static pthread_once_t real_once = PTHREAD_ONCE_INIT;

/* Finds the mapping of the object that contains the address. */
static int object_visit(struct dl_phdr_info *object, size_t size, void *address)
{
	uintptr_t at = (uintptr_t)address, start = UINTPTR_MAX, end = 0;
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &object->dlpi_phdr[i];
		uintptr_t from = object->dlpi_addr + h->p_vaddr;
		if (h->p_type != PT_LOAD)
			continue;
		start = from < start ? from : start;
		end = from + h->p_memsz > end ? from + h->p_memsz : end;
	}
	if (at < start || at >= end)
		return 0;
	real_start = start;
	real_end = end;
	return 1;
}

/* libcay follows in the search order, or was loaded with dlopen(). */
static void real_resolve(void)
{
	void *library = NULL;
	real_complete = true;
	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		void *found = dlsym(RTLD_NEXT, names[i].name);
		if (!found && !library)
			library = dlopen(CAY_SONAME, RTLD_LAZY | RTLD_NOLOAD);
		if (!found && library)
			found = dlsym(library, names[i].name);
		memcpy(names[i].at, &found, sizeof(found));
		real_complete &= found != NULL;
	}
	if (real_complete)
		dl_iterate_phdr(object_visit, (void *)(uintptr_t)real.send);
}

bool real_load(void)
{
	pthread_once(&real_once, real_resolve);
	return real_complete;
}

bool real_is_caller(const void *return_address)
{
	uintptr_t at = (uintptr_t)return_address;
	return at >= real_start && at < real_end;
}

struct trace_instruction call_begin(
	enum trace_kind kind, struct cay_port *port, struct cay_peer *peer)
{
	struct cay_addr from = { 0 };
	if (port)
		from = real.port_addr(port);
	return (struct trace_instruction){ .kind = kind,
		.time_ns = clock_now_ns(),
		.thread = (uint32_t)gettid(),
		.node = from.node,
		.port = from.vpid,
		.peer = peer ? real.peer_addr(peer).vpid : from.vpid };
}

int call_end(struct trace_instruction *i, int r)
{
	i->duration_ns = clock_now_ns() - i->time_ns;
	if (r >= 0)
		record_line(i);
	return r;
}

void call_payload(struct trace_instruction *i, const void *data, uint64_t bytes)
{
	i->bytes = bits_min(bytes, TRACE_BYTES_MAX);
	if (!data || bytes == 0)
		return;
	if (bytes > TRACE_DATA_MAX) {
		i->seed = bytes_digest(data, bytes);
		return;
	}
	memcpy(i->data, data, bytes);
	i->data_bytes = (uint8_t)bytes;
}

void call_place(
	struct trace_instruction *i, struct cay_key key, uint64_t offset)
{
	i->window = (uint16_t)bits_min(key.window, UINT16_MAX);
	i->key = key.capability & CAY_CAPABILITY_MASK;
	i->offset = offset;
}

void call_request(struct trace_instruction *i, uint64_t tag, unsigned flags)
{
	i->tag = tag;
	i->flags = (uint8_t)flags;
}
