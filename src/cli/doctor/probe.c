/* SPDX-License-Identifier: BSD-2-Clause */
/* Common parts of the probes of `cay doctor`. */
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

pid_t probe_child(int (*run)(void *), void *argument)
{
	const struct rlimit none = { 0, 0 };
	pid_t parent = getpid();
	pid_t child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(255);
		/* A signal that ends the child is a finding: no core file. */
		setrlimit(RLIMIT_CORE, &none);
		signal(SIGALRM, SIG_DFL);
		alarm(PROBE_CHILD_SECONDS_MAX);
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

int probe_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, text, size - 1);
	int error = n < 0 ? -errno : 0;
	close(fd);
	if (error)
		return error;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return 0;
}
