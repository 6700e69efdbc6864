/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far `cay sim` is, on a terminal and if it takes long; and Ctrl-C, which
 * ends it with what is known, as SIGTERM and SIGHUP do. A second one ends it at
 * once.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/sim/sim.h"

#define SILENT_NS CLOCK_NS_PER_S
#define EVERY_NS  (200 * CLOCK_NS_PER_MS)

static volatile sig_atomic_t interrupted;
static uint64_t begun_ns, said_ns;
static bool watched;

static void interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* What is ignored, as by nohup(1), stays so. */
static void interrupt_by(int signal)
{
	struct sigaction before, action = { .sa_handler = interrupt,
		.sa_flags = (int)SA_RESETHAND };
	if (sigaction(signal, NULL, &before) == 0 &&
		before.sa_handler != SIG_IGN)
		sigaction(signal, &action, NULL);
}

void sim_progress_begin(void)
{
	interrupt_by(SIGINT);
	interrupt_by(SIGTERM);
	interrupt_by(SIGHUP);
	begun_ns = clock_now_ns();
	said_ns = 0;
	watched = isatty(STDERR_FILENO);
}

bool sim_interrupted(void)
{
	return interrupted;
}

void sim_progress(const char *format, ...)
{
	va_list arguments;
	if (!watched)
		return;
	uint64_t now = clock_now_ns();
	if (now - begun_ns < SILENT_NS || now - said_ns < EVERY_NS)
		return;
	said_ns = now;
	fputc('\r', stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\033[K", stderr);
	fflush(stderr);
}

void sim_progress_end(void)
{
	if (said_ns)
		fputs("\r\033[K", stderr);
	said_ns = 0;
}
