/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal of cay top: alternate screen, keys without Enter, and restoring
 * both at every end. It uses plain ECMA-48 sequences.
 *
 * Signals that end or stop the process are not blocked, so that they work while
 * a node does not answer; their handlers only use async-signal-safe calls.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/top/top.h"

#define COLUMNS_DEFAULT 80
#define ROWS_DEFAULT	24
#define SIZE_MAX_CELLS	1000

/* Alternate screen without a cursor, and back. */
static const char screen_enter[] = "\033[?1049h\033[?25l\033[H\033[J";
static const char screen_leave[] = "\033[?25h\033[?1049l";

static struct termios terminal_before;
static volatile sig_atomic_t entered; /* the alternate screen is shown */
static volatile sig_atomic_t keys;    /* standard input is the terminal */
static volatile sig_atomic_t redraw;  /* the screen may show anything */
static sigset_t mask_waiting;	      /* while waiting for a key */

static void terminal_write(const char *text, size_t bytes)
{
	ssize_t n = write(STDOUT_FILENO, text, bytes);
	(void)n; /* the terminal may be gone */
}

static void terminal_enter(void)
{
	if (keys) {
		struct termios t = terminal_before;
		/* ISIG stays: the interrupt and suspend keys work. */
		t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		t.c_cc[VMIN] = 1;
		t.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &t);
	}
	terminal_write(screen_enter, sizeof(screen_enter) - 1);
	entered = 1;
}

static void terminal_leave(void)
{
	if (!entered)
		return;
	entered = 0;
	terminal_write(screen_leave, sizeof(screen_leave) - 1);
	if (keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
}

/* ---- signals ---- */

static void handle(int number, void (*handler)(int))
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = SA_RESTART };
	sigemptyset(&a.sa_mask);
	sigaction(number, &a, NULL);
}

/* Restores the terminal, then takes the default action. */
static void on_end(int number)
{
	terminal_leave();
	handle(number, SIG_DFL);
	raise(number); /* delivered when this handler returns */
}

/*
 * The process stops inside this handler, and enters the terminal again when it
 * continues, or at once if an orphaned process group cannot stop.
 */
static void on_stop(int number)
{
	int e = errno;
	sigset_t now;
	terminal_leave();
	handle(number, SIG_DFL);
	raise(number);
	sigemptyset(&now);
	sigaddset(&now, number);
	sigprocmask(SIG_UNBLOCK, &now, NULL);
	handle(number, on_stop);
	terminal_enter();
	redraw = 1;
	errno = e;
}

/* Other programs may have drawn after a SIGSTOP, which has no handler. */
static void on_continue(int number)
{
	int e = errno;
	(void)number;
	terminal_enter();
	redraw = 1;
	errno = e;
}

static void on_resize(int number)
{
	(void)number;
	redraw = 1;
}

static void signals_begin(void)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	sigset_t late;
	for (unsigned i = 0; i < ARRAY_COUNT(ending); i++)
		handle(ending[i], on_end);
	handle(SIGTSTP, on_stop);
	handle(SIGCONT, on_continue);
	handle(SIGWINCH, on_resize);
	/* Delivered only in ppoll(), so that none is lost before it. */
	sigemptyset(&late);
	sigaddset(&late, SIGCONT);
	sigaddset(&late, SIGWINCH);
	sigprocmask(SIG_BLOCK, &late, &mask_waiting);
	sigdelset(&mask_waiting, SIGCONT);
	sigdelset(&mask_waiting, SIGWINCH);
}

/* ---- calls of top.c ---- */

bool top_screen_possible(void)
{
	const char *kind = getenv("TERM");
	return isatty(STDOUT_FILENO) && kind && *kind &&
	       strcmp(kind, "dumb") != 0;
}

void top_screen_begin(void)
{
	keys = isatty(STDIN_FILENO) &&
	       tcgetattr(STDIN_FILENO, &terminal_before) == 0;
	signals_begin();
	terminal_enter();
}

void top_screen_end(void)
{
	terminal_leave();
}

static unsigned size_or(unsigned wanted, unsigned otherwise)
{
	return wanted && wanted <= SIZE_MAX_CELLS ? wanted : otherwise;
}

void top_screen_size(unsigned *columns, unsigned *rows)
{
	struct winsize w = { 0 };
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);
	*columns = size_or(w.ws_col, COLUMNS_DEFAULT);
	*rows = size_or(w.ws_row, ROWS_DEFAULT);
}

static int key_read(void)
{
	unsigned char c;
	ssize_t n = read(STDIN_FILENO, &c, 1);
	if (n == 1)
		return c;
	return n < 0 && (errno == EINTR || errno == EAGAIN) ? TOP_KEY_REDRAW
							    : TOP_KEY_GONE;
}

int top_screen_key(uint64_t deadline)
{
	uint64_t now = clock_now_ns();
	struct timespec wait =
		clock_timespec(deadline > now ? deadline - now : 0);
	struct pollfd in = { .fd = keys ? STDIN_FILENO : -1, .events = POLLIN };
	int n = redraw ? 0 : ppoll(&in, 1, &wait, &mask_waiting);
	if (redraw || (n < 0 && errno == EINTR)) {
		redraw = 0;
		return TOP_KEY_REDRAW;
	}
	if (n == 0)
		return TOP_KEY_TIMEOUT;
	return n < 0 ? TOP_KEY_GONE : key_read();
}
