/* SPDX-License-Identifier: BSD-2-Clause */
/* cay doctor: checks what this machine supports. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/bits.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/doctor/probe.h"

static const char *const state_names[] = {
	[PROBE_OK] = "ok",
	[PROBE_WARN] = "warn",
	[PROBE_MISSING] = "missing",
};

static const struct probe_group *const groups[PROBE_GROUPS] = { &probe_memory,
	&probe_kernel, &probe_machine, &probe_isolation, &probe_install };

/* Runs all probes and prints their findings. Returns true if all passed. */
static bool probes_run(struct json *j)
{
	bool passed = true;
	for (int g = 0; g < PROBE_GROUPS; g++) {
		for (size_t i = 0; i < groups[g]->count; i++) {
			const struct probe *p = &groups[g]->probes[i];
			struct finding f = { .state = PROBE_MISSING };
			fflush(stdout); /* children must not print it again */
			p->run(&f);
			passed = passed && f.state != PROBE_MISSING;
			if (!j) {
				printf("%-8s %-15s %s\n", state_names[f.state],
					p->name, f.text);
				if (f.advice[0])
					printf("%-8s %-15s -> %s\n", "", "",
						f.advice);
				continue;
			}
			json_object_begin(j);
			json_put_string(j, "name", p->name);
			json_put_string(j, "state", state_names[f.state]);
			json_put_string(j, "finding", f.text);
			if (f.advice[0])
				json_put_string(j, "advice", f.advice);
			json_object_end(j);
		}
	}
	return passed;
}

struct doctor_options {
	bool json;
};

static int doctor_run(const struct command *c, int argc, char **argv)
{
	struct doctor_options o = { 0 };
	int status = command_parse(c, &argc, &argv, &o);
	if (status >= 0)
		return status;
	if (!o.json) {
		bool passed = probes_run(NULL);
		printf("\n%s\n", passed ? "Cay works on this machine."
					: "Cay does not work on this machine.");
		status = cli_output_flush(c->name);
		return passed ? status : CLI_FAILED;
	}
	struct json j;
	struct utsname u = { 0 };
	uname(&u);
	json_open(&j, stdout);
	json_object_begin(&j);
	json_put_string(&j, "kernel", u.release);
	json_put_string(&j, "machine", u.machine);
	json_key(&j, "findings");
	json_array_begin(&j);
	bool passed = probes_run(&j);
	json_array_end(&j);
	json_put_bool(&j, "passed", passed);
	json_object_end(&j);
	json_close(&j);
	status = cli_output_flush(c->name);
	return passed ? status : CLI_FAILED;
}

#define OPTIONS_STRUCT struct doctor_options

static const struct option_row doctor_rows[] = {
	OPTION_SWITCH("json", json, "print a JSON object instead of a table"),
	OPTION_TERM("ok", "it works", .group = "Results"),
	OPTION_TERM("warn",
		"Cay works without it, with the drawback that is named"),
	OPTION_TERM("missing", "Cay does not work without it"),
};

const struct command command_doctor = {
	.name = "doctor",
	.summary = "check what this machine supports, and how to fix the rest",
	.help = "Tests everything that Cay needs of this machine, and what "
		"makes it faster, as this user and in this container.",
	.notes = "Exit status: 0 nothing is missing, also with warnings; 1 "
		 "something is missing.",
	COMMAND_OPTIONS(doctor_rows),
	.run = doctor_run,
};
