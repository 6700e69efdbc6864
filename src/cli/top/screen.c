/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The terminal of cay top: its other screen, keys without Enter, and all of it
 * given back at the end, whatever the end is. Plain ECMA-48 sequences, which
 * every terminal of the last decades knows.
 *
 * Signals that end or stop us are not blocked, so that they work while a node
 * does not answer; their handlers use only what signal-safety(7) allows.
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

/* The other screen, no cursor; and back. */
static const char screen_take[] = "\033[?1049h\033[?25l\033[H\033[J";
static const char screen_give[] = "\033[?25h\033[?1049l";

static struct termios terminal_before;
static volatile sig_atomic_t taken;  /* the screen is ours */
static volatile sig_atomic_t keys;   /* so is the keyboard */
static volatile sig_atomic_t redraw; /* what is on it may be nothing */
static sigset_t mask_waiting;	     /* while we wait for a key */

static void say(const char *text, size_t bytes)
{
	ssize_t n = write(STDOUT_FILENO, text, bytes);
	(void)n; /* a terminal that is gone needs nothing */
}

static void terminal_take(void)
{
	if (keys) {
		struct termios t = terminal_before;
		/* ISIG stays: interrupt and suspend work as ever. */
		t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		t.c_cc[VMIN] = 1;
		t.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &t);
	}
	say(screen_take, sizeof(screen_take) - 1);
	taken = 1;
}

static void terminal_give(void)
{
	if (!taken)
		return;
	taken = 0;
	say(screen_give, sizeof(screen_give) - 1);
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

/* As if we had no handler, but for the terminal. */
static void on_end(int number)
{
	terminal_give();
	handle(number, SIG_DFL);
	raise(number); /* as soon as this handler returns */
}

/*
 * Stops here, inside the handler: so the terminal is ours again whether we were
 * continued or there was nobody who could have done so, and we did not stop.
 */
static void on_stop(int number)
{
	int e = errno;
	sigset_t now;
	terminal_give();
	handle(number, SIG_DFL);
	raise(number);
	sigemptyset(&now);
	sigaddset(&now, number);
	sigprocmask(SIG_UNBLOCK, &now, NULL);
	handle(number, on_stop);
	terminal_take();
	redraw = 1;
	errno = e;
}

/* Others may have drawn while a SIGSTOP, which nobody sees, kept us. */
static void on_continue(int number)
{
	int e = errno;
	(void)number;
	terminal_take();
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
	/* Only while we wait: none is lost between a look and the wait. */
	sigemptyset(&late);
	sigaddset(&late, SIGCONT);
	sigaddset(&late, SIGWINCH);
	sigprocmask(SIG_BLOCK, &late, &mask_waiting);
	sigdelset(&mask_waiting, SIGCONT);
	sigdelset(&mask_waiting, SIGWINCH);
}

/* ---- for top.c ---- */

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
	terminal_take();
}

void top_screen_end(void)
{
	terminal_give();
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
