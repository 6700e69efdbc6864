/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress line of a long run on a terminal, and signals: the first SIGINT,
 * SIGTERM or SIGHUP ends the simulation with the results so far, the second one
 * ends the process.
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
static uint64_t begun_ns, printed_ns;
static bool terminal;

static void interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* A signal that is ignored, as by nohup(1), stays ignored. */
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
	printed_ns = 0;
	terminal = isatty(STDERR_FILENO);
}

bool sim_interrupted(void)
{
	return interrupted;
}

void sim_progress(const char *format, ...)
{
	va_list arguments;
	if (!terminal)
		return;
	uint64_t now = clock_now_ns();
	if (now - begun_ns < SILENT_NS || now - printed_ns < EVERY_NS)
		return;
	printed_ns = now;
	fputc('\r', stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\033[K", stderr);
	fflush(stderr);
}

void sim_progress_end(void)
{
	if (printed_ns)
		fputs("\r\033[K", stderr);
	printed_ns = 0;
}
