/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parameters of the provider, and its descriptor, to which log messages belong.
 */
#include <stdlib.h>
#include <string.h>

#include "cay/version.h"
#include "provider/provider.h"

static void provider_cleanup(void)
{
	free(settings.node);
	settings.node = NULL;
}

struct fi_provider provider = {
	.version = FI_VERSION(CAY_VERSION_MAJOR, CAY_VERSION_MINOR),
	.fi_version = FI_VERSION(1, 17),
	.name = "cay",
	.cleanup = provider_cleanup,
};

struct settings settings;

struct parameter {
	const char *name;
	size_t *value;
	size_t standard, min, max;
	const char *help;
};

static const struct parameter parameters[] = {
	{ "nq_entries", &settings.nq_entries, 128, 16, 1 << 20,
		"entries of an endpoint's notification queue" },
	{ "rdr_bytes", &settings.rdr_bytes, 512 << 10, 64 << 10, 32 << 20,
		"bytes of an endpoint's receive data region" },
	/* Two copies take less time than one of the kernel up to about that. */
	{ "eager_bytes", &settings.eager_bytes, 32 << 10, PROVIDER_INJECT_BYTES,
		1 << 20,
		"longest message that is sent eagerly; longer ones use "
		"rendezvous" },
	{ "piece_bytes", &settings.piece_bytes, 1 << 20, 4096, 1 << 30,
		"bytes of a rendezvous message that the receiver gets at "
		"once" },
	{ "cocopy_bytes", &settings.cocopy_bytes, 256 << 10, 0,
		PROVIDER_MESSAGE_MAX,
		"shortest message that both ends copy; 0: only the receiver "
		"copies" },
	{ "unexpected_bytes", &settings.unexpected_bytes, 256 << 20, 64 << 10,
		PROVIDER_MESSAGE_MAX,
		"bytes of unexpected messages that an endpoint holds before "
		"it pauses senders" },
	/* A port has 65536 windows, of which the provider needs three. */
	{ "mr_count", &settings.mr_count, 4093, 1, 65533,
		"memory regions of an endpoint for remote access" },
	{ "ultra_paths", &settings.ultra_paths, 4, 0, 256,
		"ULTRA paths that lead to an endpoint, of 44 KiB each; 0: "
		"none" },
	{ "ultra_messages", &settings.ultra_messages, 2000, 1, 1 << 30,
		"small messages of a peer after which an ULTRA path from it "
		"is set up" },
	{ "ultra_idle_ms", &settings.ultra_idle_ms, 10000, 1, 3600 * 1000,
		"milliseconds after which an unused ULTRA path is closed" },
	{ "ultra_always", &settings.ultra_always, 0, 0, 1,
		"1: ULTRA paths also where they do not pay: where messages "
		"come one by one, or other processes use the core" },
	{ "connect_ms", &settings.connect_ms, 2000, 0, 3600 * 1000,
		"milliseconds that a peer may take to come up" },
	{ "spin_us", &settings.spin_us, 20, 0, 1000 * 1000,
		"microseconds that a wait spins before it sleeps" },
};

static void parameter_read(const struct parameter *p)
{
	size_t value;
	*p->value = p->standard;
	fi_param_define(&provider, p->name, FI_PARAM_SIZE_T,
		"%s (%zu to %zu, default %zu)", p->help, p->min, p->max,
		p->standard);
	if (fi_param_get_size_t(&provider, p->name, &value))
		return;
	if (value >= p->min && value <= p->max)
		*p->value = value;
	else
		LOG_WARN(CORE, "%s=%zu is outside %zu to %zu: using %zu\n",
			p->name, value, p->min, p->max, p->standard);
}

void settings_read(void)
{
	char *name;
	fi_param_define(&provider, "node", FI_PARAM_STRING,
		"name of the Cay node (default: CAY_NODE, else the batch "
		"job's id, else \"default\")");
	/* Copied: the string is that of the environment, which may change. */
	if (fi_param_get_str(&provider, "node", &name) == 0 && *name)
		settings.node = strdup(name);
	for (unsigned i = 0; i < ARRAY_COUNT(parameters); i++)
		parameter_read(&parameters[i]);
}
