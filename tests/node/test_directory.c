/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket in the user's directory, /run/user/<uid>, next to the abstract
 * one, which other users can take. The test has a mount namespace with such a
 * directory, which requires root.
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "outside.h"

#define FOREIGN_ID 65534
#define PROCESSES  12
#define ROUNDS	   4

static char directory[64];

static struct node_address address_here(void)
{
	struct node_address a;
	assert_int_equal(node_address(harness_name, &a), 0);
	return a;
}

/* Counts the files in the directory. */
static unsigned files_left(void)
{
	struct dirent *e;
	unsigned count = 0;
	DIR *d = opendir(directory);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		count += e->d_name[0] != '.';
	closedir(d);
	return count;
}

static bool directory_empty(void *unused)
{
	(void)unused;
	return files_left() == 0;
}

/* Nothing is left, in the directory or elsewhere. */
static void assert_nothing_left(void)
{
	assert_node_exits();
	assert_true(wait_for(directory_empty, NULL, 5000));
}

static bool socket_there(const struct node_address *a)
{
	struct stat st;
	return lstat(a->path.sun_path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Asks the node at the path: the abstract name may be another's. */
static pid_t path_pid(const struct node_address *a)
{
	struct node_request q = { .kind = NODE_STATUS };
	struct node_reply reply;
	struct node_status status;
	int fd = -1, s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(
		connect(s, (const struct sockaddr *)&a->path, a->path_length),
		0);
	assert_int_equal(raw_call(s, &q, -1, &reply, &fd), 0);
	assert_int_equal(pread(fd, &status, sizeof(status), 0), sizeof(status));
	close(fd);
	close(s);
	return (pid_t)status.pid;
}

/* Counts the lines of `cay node list` with this node. */
static unsigned listed(void)
{
	char line[256];
	unsigned count = 0;
	snprintf(line, sizeof(line), "'%s' node list",
		getenv("CAY_NODE_PROGRAM"));
	FILE *f = popen(line, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		count += strcmp(line, harness_name) == 0;
	}
	assert_int_equal(pclose(f), 0);
	return count;
}

/* Opens a port, checks it by a message to itself, and closes it. */
static int port_use(void *unused)
{
	struct cay_peer *self;
	struct cay_event e;
	uint64_t since = clock_now_ns();
	struct cay_port *port = cay_port_open(NULL);
	(void)unused;
	assert_non_null(port);
	assert_true(elapsed_ms(since) < 5000);
	assert_int_equal(cay_peer_resolve(port, cay_port_addr(port), &self), 0);
	assert_int_equal(cay_send(port, self, 1, "x", 1, 0), 0);
	assert_int_equal(cay_poll(port, &e, 1), 1);
	cay_release(port, &e);
	cay_peer_release(self);
	assert_int_equal(cay_port_close(port), 0);
	return 0;
}

/* ---- one node ---- */

static void node_has_both_sockets(void **state)
{
	(void)state;
	harness_rename();
	struct node_address a = address_here();
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	assert_true(a.path_length > 0);
	assert_true(socket_there(&a));
	assert_int_equal(files_left(), 1);
	assert_int_equal(path_pid(&a), node_pid()); /* by the abstract name */
	assert_int_equal(listed(), 1);
	assert_int_equal(cay_port_close(port), 0);
	assert_nothing_left();
}

static void killed_node_leaves_one_socket(void **state)
{
	(void)state;
	harness_rename();
	struct node_address a = address_here();
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct cay_port *port = cay_port_open(NULL);
		assert_non_null(port);
		pid_t node = path_pid(&a);
		assert_int_equal(kill(node, SIGKILL), 0);
		assert_true(exit_wait(node, HARNESS_TIMEOUT_MS));
		assert_int_equal(files_left(), 1);
		assert_true(socket_there(&a));
		assert_int_equal(cay_port_close(port), 0);
		port_use(NULL);
	}
	assert_nothing_left();
}

static void terminated_node_leaves_nothing(void **state)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
	(void)state;
	for (unsigned i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		harness_rename();
		struct cay_port *port = cay_port_open(NULL);
		assert_non_null(port);
		assert_int_equal(kill(node_pid(), signals[i]), 0);
		assert_nothing_left();
		assert_int_equal(cay_port_close(port), 0);
	}
}

static int election_body(void *argument)
{
	const int *output = argument;
	char byte;
	/* Until the parent closes its end: all start at once. */
	close(output[1]);
	while (read(output[0], &byte, 1) < 0)
		continue;
	return port_use(NULL);
}

/* With no socket at first, then with that of a killed node. */
static void one_node_is_elected(void **state)
{
	(void)state;
	harness_rename();
	struct node_address a = address_here();
	for (unsigned round = 0; round < ROUNDS; round++) {
		pid_t children[PROCESSES];
		int gate[2];
		assert_int_equal(pipe(gate), 0);
		for (unsigned i = 0; i < PROCESSES; i++)
			children[i] = child_start(election_body, gate);
		close(gate[1]);
		for (unsigned i = 0; i < PROCESSES; i++)
			assert_int_equal(child_join(children[i]), 0);
		close(gate[0]);
		assert_int_equal(node_processes(), 1);
		assert_int_equal(files_left(), 1);
		pid_t node = path_pid(&a);
		kill(node, SIGKILL);
		assert_true(exit_wait(node, HARNESS_TIMEOUT_MS));
	}
	port_use(NULL);
	assert_nothing_left();
}

/* ---- directories of others, or for others ---- */

static void directory_must_be_the_users_alone(void **state)
{
	static const struct {
		mode_t mode;
		uid_t owner;
	} wrong[] = { { 0750, 0 }, { 0705, 0 }, { 0711, 0 },
		{ 0700, FOREIGN_ID } };
	(void)state;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		harness_rename();
		assert_int_equal(chown(directory, wrong[i].owner, 0), 0);
		assert_int_equal(chmod(directory, wrong[i].mode), 0);
		struct cay_port *port = cay_port_open(NULL);
		assert_non_null(port);
		assert_int_equal(files_left(), 0);
		assert_int_equal(listed(), 1);
		assert_int_equal(cay_port_close(port), 0);
		assert_node_exits();
	}
	assert_int_equal(chown(directory, geteuid(), 0), 0);
	assert_int_equal(chmod(directory, 0700), 0);
}

static void directory_must_not_be_a_link(void **state)
{
	(void)state;
	harness_rename();
	assert_int_equal(rename(directory, "/run/user/other"), 0);
	assert_int_equal(symlink("/run/user/other", directory), 0);
	port_use(NULL);
	assert_node_exits();
	assert_int_equal(files_left(), 0);
	assert_int_equal(unlink(directory), 0);
	assert_int_equal(rename("/run/user/other", directory), 0);
}

/* ---- the abstract name, taken by another user ---- */

struct holder {
	struct node_address address;
	bool listens;
};

_Noreturn static int holder_body(void *argument)
{
	const struct holder *h = argument;
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(setresgid(FOREIGN_ID, FOREIGN_ID, FOREIGN_ID) == 0 &&
		    setresuid(FOREIGN_ID, FOREIGN_ID, FOREIGN_ID) == 0);
	child_die_with_parent(); /* setresuid() resets it */
	assert_int_equal(bind(s, (const struct sockaddr *)&h->address.address,
				 h->address.length),
		0);
	if (h->listens)
		assert_int_equal(listen(s, 64), 0);
	child_ready();
	for (;;)
		pause();
}

static pid_t holder_start(bool listens)
{
	static struct holder h;
	harness_rename();
	h = (struct holder){ address_here(), listens };
	return child_start_ready(holder_body, &h);
}

static void path_suffices(void **state)
{
	(void)state;
	for (int listens = 0; listens <= 1; listens++) {
		pid_t holder = holder_start(listens);
		struct node_address a = address_here();
		struct cay_port *port = cay_port_open(NULL);
		assert_non_null(port);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(child_run(port_use, NULL), 0);
		assert_int_not_equal(path_pid(&a), holder);
		assert_int_equal(listed(), 1);
		assert_int_equal(cay_port_close(port), 0);
		assert_true(wait_for(directory_empty, NULL, 5000));
		child_kill(holder);
	}
}

/* The error comes soon, and names the holder if it listens. */
static void foreign_name_is_an_error_without_directory(void **state)
{
	char line[512], expected[64];
	(void)state;
	assert_int_equal(chmod(directory, 0755), 0);
	for (int listens = 0; listens <= 1; listens++) {
		pid_t holder = holder_start(listens);
		uint64_t since = clock_now_ns();
		assert_null(cay_port_open(NULL));
		assert_int_equal(errno, EPERM);
		assert_true(elapsed_ms(since) < 5000);
		snprintf(line, sizeof(line), "'%s' node serve 2>&1",
			getenv("CAY_NODE_PROGRAM"));
		snprintf(expected, sizeof(expected),
			listens ? "process %d of user %d" : "does not listen",
			(int)holder, FOREIGN_ID);
		FILE *f = popen(line, "re");
		assert_non_null(f);
		bool named = false;
		while (fgets(line, sizeof(line), f))
			named |= strstr(line, expected) != NULL;
		assert_int_equal(WEXITSTATUS(pclose(f)), 1);
		assert_true(named);
		child_kill(holder);
	}
	assert_int_equal(chmod(directory, 0700), 0);
}

static int late_holder_body(void *argument)
{
	const struct node_address *a = argument;
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(s, (const struct sockaddr *)&a->address, a->length), 0);
	child_ready();
	clock_nap_ns(800 * CLOCK_NS_PER_MS);
	return 0;
}

/* A node of this user is preempted between bind() and listen(), and exits. */
static void preempted_node_is_no_foreign_one(void **state)
{
	(void)state;
	harness_rename();
	assert_int_equal(chmod(directory, 0755), 0);
	struct node_address a = address_here();
	pid_t holder = child_start_ready(late_holder_body, &a);
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	assert_int_equal(cay_port_close(port), 0);
	assert_int_equal(child_join(holder), 0);
	assert_int_equal(chmod(directory, 0700), 0);
}

/* A node that started before the directory existed. */
static void node_without_path_is_found(void **state)
{
	(void)state;
	harness_rename();
	assert_int_equal(chmod(directory, 0755), 0);
	struct cay_port *port = cay_port_open(NULL);
	assert_non_null(port);
	pid_t node = node_pid();
	assert_int_equal(chmod(directory, 0700), 0);
	assert_int_equal(child_run(port_use, NULL), 0);
	assert_int_equal(node_pid(), node);
	assert_int_equal(node_processes(), 1);
	assert_int_equal(files_left(), 0);
	assert_int_equal(cay_port_close(port), 0);
	assert_nothing_left();
}

/* Only this process and its children see the directory. */
static bool directory_make(void)
{
	snprintf(directory, sizeof(directory), NODE_DIRECTORY,
		(unsigned)geteuid());
	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return false;
	mkdir("/run/user", 0755);
	return mount("none", "/run/user", "tmpfs", 0, "mode=0755") == 0 &&
	       mkdir(directory, 0700) == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_has_both_sockets),
		cmocka_unit_test(killed_node_leaves_one_socket),
		cmocka_unit_test(terminated_node_leaves_nothing),
		cmocka_unit_test(one_node_is_elected),
		cmocka_unit_test(directory_must_be_the_users_alone),
		cmocka_unit_test(directory_must_not_be_a_link),
		cmocka_unit_test(path_suffices),
		cmocka_unit_test(foreign_name_is_an_error_without_directory),
		cmocka_unit_test(preempted_node_is_no_foreign_one),
		cmocka_unit_test(node_without_path_is_found),
	};
	if (!directory_make()) {
		fprintf(stderr, "skipped: requires root and a mount "
				"namespace\n");
		return 77;
	}
	harness_begin("directory");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
