/* SPDX-License-Identifier: BSD-2-Clause */
/* What the demo looks like, on 80 columns. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/demo/demo.h"

#define COLUMN 38

/* ---- colours: on a terminal, unless the user does not want them ---- */

#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define RED   "\033[1;31m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

static const char *colour(const struct demo *d, const char *code)
{
	return d->colour ? code : "";
}

void show_begin(struct demo *d)
{
	const char *no = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");
	d->colour = isatty(STDOUT_FILENO) && !(no && *no) && terminal &&
		    strcmp(terminal, "dumb") != 0;
}

/* ---- titles and columns ---- */

void show_scene(struct demo *d, const char *title, const char *about)
{
	printf("\n%s%2u  %s%s\n%s", colour(d, BOLD), ++d->scene, title,
		colour(d, PLAIN), about);
}

/* One cell more, if there is room. */
__attribute__((format(printf, 3, 0))) static void cell_add(
	char cells[][DEMO_CELL_MAX], unsigned *count, const char *format,
	va_list arguments)
{
	if (*count < DEMO_ROWS_MAX)
		vsnprintf(cells[(*count)++], DEMO_CELL_MAX, format, arguments);
}

void show_left(struct demo *d, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	cell_add(d->table.left, &d->table.left_count, format, arguments);
	va_end(arguments);
}

void show_right(struct demo *d, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	cell_add(d->table.right, &d->table.right_count, format, arguments);
	va_end(arguments);
}

static void row_print(const char *left, const char *right)
{
	if (*right)
		printf("    %-*s%s\n", COLUMN, left, right);
	else
		printf("    %s\n", left);
}

void show_rows(struct demo *d, const char *left, const char *right)
{
	struct demo_table *t = &d->table;
	unsigned rows = t->left_count > t->right_count ? t->left_count
						       : t->right_count;

	if (left) {
		fputs(colour(d, DIM), stdout);
		row_print(left, right);
		fputs(colour(d, PLAIN), stdout);
	}
	for (unsigned i = 0; i < rows; i++)
		row_print(i < t->left_count ? t->left[i] : "",
			i < t->right_count ? t->right[i] : "");
	t->left_count = t->right_count = 0;
	fflush(stdout);
}

/* ---- checks ---- */

bool show_check(struct demo *d, bool right, const char *format, ...)
{
	va_list arguments;

	d->checks++;
	d->wrong += !right;
	printf("    %s%s%s ", colour(d, right ? GREEN : RED),
		right ? "ok" : "WRONG:", colour(d, PLAIN));
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
	return right;
}

int show_failed(struct demo *d, const char *what, int error)
{
	show_check(d, false, "%s: %s", what, cay_strerror(error));
	return -EPROTO;
}
