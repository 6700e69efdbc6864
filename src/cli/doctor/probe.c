/* SPDX-License-Identifier: BSD-2-Clause */
/* What all probes of `cay doctor` use. */
#include "cli/doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_CHILD_SECONDS_MAX 5

void finding_set(
	struct finding *f, enum probe_state state, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(f->text, sizeof(f->text), format, arguments);
	va_end(arguments);
	f->state = state;
}

void finding_advise(struct finding *f, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(f->advice, sizeof(f->advice), format, arguments);
	va_end(arguments);
}

/* A signal that ends it is a finding, not a reason for a core file. */
static void child_prepare(pid_t parent)
{
	const struct rlimit none = { 0, 0 };
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(255);
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGALRM, SIG_DFL);
	alarm(PROBE_CHILD_SECONDS_MAX);
}

pid_t probe_child(int (*run)(void *), void *argument)
{
	pid_t parent = getpid();
	pid_t child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		child_prepare(parent);
		_exit(run(argument));
	}
	return child;
}

int probe_wait(pid_t child)
{
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return 255;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int probe_read(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, text, room - 1);
	int error = n < 0 ? -errno : 0;
	close(fd);
	if (error)
		return error;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return 0;
}

const char *probe_bytes(uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB",
		"PiB", "EiB" };
	static char texts[4][32];
	static unsigned next;
	unsigned unit = 0;
	while (bytes >= 10240 && unit < 6) {
		bytes /= 1024;
		unit++;
	}
	char *text = texts[next++ % 4];
	snprintf(text, sizeof(texts[0]), "%lu %s", bytes, units[unit]);
	return text;
}
