/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of cay recv share. */
#ifndef CAY_CLI_RECV_H
#define CAY_CLI_RECV_H

#include <stdio.h>

#include "cay/cay.h"

struct recv_options {
	const char *node, *realm, *name;
	uint64_t count;	     /* 0: no end */
	uint64_t timeout_ns; /* UINT64_MAX: none */
	bool json, raw;
};

/* How it ends. */
enum recv_end {
	RECV_GOES_ON = 0,
	RECV_DONE, /* all that were asked for */
	RECV_TIMED_OUT,
	RECV_INTERRUPTED,
	RECV_READER_LEFT, /* standard output is a pipe that nobody reads */
	RECV_FAILED,	  /* and that was said */
};

struct receiver {
	const struct recv_options *options;
	struct cay_port *port;
	int fd;	     /* of the port */
	int stop_fd; /* readable once a signal has asked us to end */
	FILE *out;   /* standard output, but never deaf to stop_fd */
	bool flush;  /* after each message */
	uint64_t received, lost;
	uint64_t deadline;
	/* --json: whom we have heard of, by VPID; see sender_meet(). */
	struct cay_peer **senders;
	struct cay_addr *left; /* to be called gone when the queue is empty */
	size_t left_count;
	enum recv_end end;
};

/* ---- recv_output.c: what goes wrong there sets receiver.end ---- */

/* 0 or -errno. */
int output_open(struct receiver *);
void output_close(struct receiver *);

void output_message(struct receiver *, const struct cay_event *);
void output_gone(struct receiver *, struct cay_addr);
void output_flush(struct receiver *);

#endif
