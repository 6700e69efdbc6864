/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions of the library's calls: see steps.h. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bits.h"
#include "cay/cay.h"
#include "steps.h"

static struct cay_port *port;
static struct cay_peer *peer;
static struct cay_ultra *in, *out;
static struct cay_event event;
static struct cay_key key; /* of a window of the port itself */
static _Alignas(8) char data[64];
static _Alignas(8) char large[4096];
static uint64_t previous;

static void send_8(void)
{
	cay_send(port, peer, 1, data, 8, 0);
}

static void send_40(void)
{
	cay_send(port, peer, 1, data, 40, 0);
}

static void send_64(void)
{
	cay_send(port, peer, 1, data, 64, 0);
}

static void send_256(void)
{
	cay_send(port, peer, 1, large, 256, 0);
}

#define BURST 16

static struct cay_message burst[BURST];
static struct cay_event events[BURST];

static void send_burst(void)
{
	if (cay_send_burst(port, peer, burst, BURST) != BURST)
		exit(2);
}

static void poll_burst(void)
{
	if (cay_poll(port, events, BURST) != BURST)
		exit(2);
}

static void release_burst(void)
{
	cay_release_burst(port, events, BURST);
}

static void poll_one(void)
{
	if (cay_poll(port, &event, 1) != 1)
		exit(2);
}

static void release(void)
{
	cay_release(port, &event);
}

static void poll_once(void)
{
	cay_poll(port, &event, 1);
}

static void put_8(void)
{
	cay_put(port, peer, key, 64, data, 8, 1, 0);
}

static void put_8_flush(void)
{
	put_8();
	cay_flush(port, peer, 0);
}

static void put_64(void)
{
	cay_put(port, peer, key, 64, data, 64, 1, 0);
}

static void get_8(void)
{
	cay_get(port, peer, key, 64, data, 8, 1, 0);
}

static void add(void)
{
	cay_fetch_add(port, peer, key, 0, 1, 1, 0);
}

static void ultra_send_8(void)
{
	cay_ultra_send(out, 1, data, 8, 0);
}

static void ultra_send_48(void)
{
	cay_ultra_send(out, 1, data, 48, 0);
}

static void ultra_recv(void)
{
	uint64_t tag;
	if (cay_ultra_recv(in, &tag, data, 48) < 0)
		exit(2);
}

static void ultra_recv_nothing(void)
{
	uint64_t tag;
	cay_ultra_recv(in, &tag, data, 48);
}

static void ultra_peek_release(void)
{
	const void *place;
	if (cay_ultra_peek(in, NULL, &place) < 0)
		exit(2);
	cay_ultra_release(in);
}

static void add_into(void)
{
	cay_fetch_add_into(port, peer, key, 0, 1, &previous, 1, 0);
}

/* In this order: each path continues from the state of the previous one. */
static const struct path paths[] = {
	{ "cay_send, 8 bytes", send_8, 150, 164 },
	{ "cay_poll, a message", poll_one, 99, 104 },
	{ "cay_release", release, 45, 47 },
	{ "cay_send, 40 bytes", send_40, 158, 172 },
	{ "cay_poll, a message", poll_one, 99, 104 },
	{ "cay_release", release, 45, 47 },
	{ "cay_poll, returning entries", poll_once, 86, 91 },
	{ "cay_poll, nothing", poll_once, 50, 57 },
	{ "cay_send, 64 bytes", send_64, 215, 219 },
	{ "cay_poll, a message in the RDR", poll_one, 138, 159 },
	{ "cay_release, a message in the RDR", release, 70, 73 },
	{ "cay_send, 256 bytes", send_256, 263, 261 },
	{ "cay_poll, a message in the RDR", poll_one, 138, 159 },
	{ "cay_release, a message in the RDR", release, 70, 73 },
	{ "cay_poll, returning entries", poll_once, 86, 91 },
	{ "cay_send_burst, 16 of 8 bytes", send_burst, 907, 895 },
	{ "cay_poll, 16 messages", poll_burst, 1268, 1210 },
	{ "cay_release_burst, 16", release_burst, 445, 480 },
	{ "cay_poll, returning entries", poll_once, 86, 91 },
	{ "cay_put, 8 bytes", put_8, 145, 143 },
	{ "cay_put, 8 bytes, cay_flush", put_8_flush, 165, 166 },
	/* 162 to 168, by the variant of memcpy() that libc selects. */
	{ "cay_put, 64 bytes", put_64, 168, 161 },
	{ "cay_get, 8 bytes", get_8, 146, 144 },
	{ "cay_fetch_add_into", add_into, 135, 142 },
	{ "cay_fetch_add", add, 408, 512 },
	{ "cay_poll, a completion", poll_one, 188, 206 },
	{ "cay_release, a completion", release, 70, 73 },
	{ "cay_ultra_send, 8 bytes", ultra_send_8, 83, 80 },
	{ "cay_ultra_recv, 8 bytes", ultra_recv, 90, 97 },
	{ "cay_ultra_send, 48 bytes", ultra_send_48, 93, 90 },
	{ "cay_ultra_recv, 48 bytes", ultra_recv, 100, 107 },
	{ "cay_ultra_send, 8 bytes", ultra_send_8, 83, 80 },
	{ "cay_ultra_peek, _release", ultra_peek_release, 129, 131 },
	{ "cay_ultra_recv, nothing", ultra_recv_nothing, 45, 51 },
};

/* Access to a window of the same port takes the same path as to a peer's. */
static void window_open(void)
{
	struct cay_window *window;
	void *memory = cay_alloc(port, 4096, 0);
	if (!memory ||
		cay_window_open(port, memory, 4096,
			CAY_RIGHT_READ | CAY_RIGHT_WRITE | CAY_RIGHT_ATOMIC,
			&window) != 0)
		exit(2);
	cay_window_key(window, &key);
}

static void warm_up(void)
{
	send_burst();
	poll_burst();
	release_burst();
	poll_once();
	send_8();
	poll_one();
	release();
	poll_once();
	send_64();
	poll_one();
	release();
	poll_once();
	put_64();
	put_8_flush();
	get_8();
	add_into();
	add();
	poll_one();
	release();
	poll_once();
	ultra_send_8();
	ultra_recv();
	ultra_send_48();
	ultra_recv();
	ultra_send_8();
	ultra_peek_release();
	ultra_recv_nothing();
}

static void traced(void)
{
	char name[64];
	snprintf(name, sizeof(name), "instructions-%d", (int)getpid());
	setenv("CAY_NODE", name, 1);
	for (int i = 0; i < BURST; i++)
		burst[i] = (struct cay_message){
			.tag = 1, .data = data, .length = 8
		};
	port = cay_port_open(NULL);
	if (!port || cay_peer_resolve(port, cay_port_addr(port), &peer) != 0)
		exit(2);
	window_open();
	if (cay_ultra_accept(port, cay_port_addr(port), 64, &in) != 0 ||
		cay_ultra_connect(port, cay_port_addr(port), 0, &out) != 0)
		exit(2);
	for (int i = 0; i < 1000; i++)
		warm_up();
	steps_run(paths, ARRAY_COUNT(paths));
	cay_peer_release(peer);
	cay_port_close(port);
}

int main(void)
{
	return steps_main(paths, ARRAY_COUNT(paths), traced);
}
