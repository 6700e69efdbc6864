/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of cay recv. */
#ifndef CAY_CLI_RECV_H
#define CAY_CLI_RECV_H

#include <stdio.h>

#include "cay/cay.h"

struct recv_options {
	const char *node, *realm, *name;
	uint64_t count;	     /* 0: unlimited */
	uint64_t timeout_ns; /* UINT64_MAX: none */
	bool json, raw;
};

enum recv_end {
	RECV_RUNNING = 0,
	RECV_DONE, /* --count messages */
	RECV_TIMED_OUT,
	RECV_INTERRUPTED,
	RECV_READER_LEFT, /* the reader of standard output has exited */
	RECV_FAILED,	  /* after an error message */
};

struct receiver {
	const struct recv_options *options;
	struct cay_port *port;
	int fd;	     /* of the port */
	int stop_fd; /* readable after SIGINT or SIGTERM */
	FILE *out;   /* standard output; gives up when stop_fd is readable */
	bool flush;  /* after each message */
	bool escape; /* control characters: a terminal reads the output */
	uint64_t received, lost;
	uint64_t deadline;
	struct cay_peer **senders; /* --json: by VPID; see sender_watch() */
	struct cay_addr *left; /* exited senders that were not reported yet */
	size_t left_count;
	enum recv_end end;
};

/* ---- recv_output.c: errors set receiver.end ---- */

/* Returns 0 or -ENOMEM. */
int output_open(struct receiver *);
void output_close(struct receiver *);

void output_message(struct receiver *, const struct cay_event *);
void output_gone(struct receiver *, struct cay_addr);
void output_flush(struct receiver *);

#endif
