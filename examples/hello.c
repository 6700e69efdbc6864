/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The smallest program: opens a port with a name, receives one message and
 * prints it. Run it, and send the message from another terminal:
 *
 *	cc hello.c -o hello $(pkg-config --cflags --libs cay)
 *	./hello
 *	cay send hello 'hello, world'
 */
#include <cay/cay.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>

int main(void)
{
	struct cay_port_options options = { .name = "hello" };
	struct cay_port *port = cay_port_open(&options);
	struct cay_event event;
	int n;
	if (!port)
		errx(1, "cay_port_open: %s",
			cay_call_strerror("cay_port_open", errno));
	while ((n = cay_poll(port, &event, 1)) == 0)
		if ((n = cay_wait(port, CAY_FOREVER)) < 0)
			errx(1, "cay_wait: %s",
				cay_call_strerror("cay_wait", n));
	if (n < 0)
		errx(1, "cay_poll: %s", cay_call_strerror("cay_poll", n));
	printf("%.*s\n", (int)event.length, (const char *)event.data);
	cay_release(port, &event);
	return cay_port_close(port) == 0 ? 0 : 1;
}
