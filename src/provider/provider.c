/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry by which libfabric finds the provider, the parameters, and the
 * translation of errors. The entry is called once, before anything else.
 */
#include "provider/provider.h"

#include <stdlib.h>
#include <string.h>

#include "provider/fabric/fabric.h"

static void provider_cleanup(void)
{
	free(settings.node);
	settings.node = NULL;
}

struct fi_provider provider = {
	.version = FI_VERSION(CAY_VERSION_MAJOR, CAY_VERSION_MINOR),
	.fi_version = FI_VERSION(1, 17),
	.name = "cay",
	.getinfo = info_get,
	.fabric = fabric_open,
	.cleanup = provider_cleanup,
};

struct settings settings;

/* ---- parameters ---- */

struct parameter {
	const char *name;
	size_t *value;
	size_t normal, least, most;
	const char *help;
};

static const struct parameter parameters[] = {
	{ "nq_entries", &settings.nq_entries, 128, 16, 1 << 20,
		"entries of an endpoint's notification queue" },
	{ "rdr_bytes", &settings.rdr_bytes, 512 << 10, 64 << 10, 32 << 20,
		"bytes of an endpoint's receive data region" },
	/* Less than is copied by the device by what may precede a message. */
	{ "eager_bytes", &settings.eager_bytes, CAY_EAGER_MAX - 64,
		PROVIDER_INJECT_BYTES, CAY_EAGER_MAX - 64,
		"messages up to this size travel at once, longer ones are "
		"fetched by their receiver" },
	{ "piece_bytes", &settings.piece_bytes, 1 << 20, 4096, 1 << 30,
		"bytes of a long message that are fetched in one go" },
	{ "share_bytes", &settings.share_bytes, 256 << 10, 0,
		PROVIDER_MESSAGE_MAX,
		"messages from this size on are copied by both ends; 0: by "
		"their receiver only" },
	{ "unexpected_bytes", &settings.unexpected_bytes, 256 << 20, 64 << 10,
		PROVIDER_MESSAGE_MAX,
		"bytes of unexpected messages that an endpoint holds before "
		"senders have to wait" },
	/* A port has 65536 windows, of which the provider needs three. */
	{ "mr_count", &settings.mr_count, 4093, 1, 65533,
		"memory registrations of an endpoint for remote access" },
	{ "connect_ms", &settings.connect_ms, 2000, 0, 3600 * 1000,
		"milliseconds that a peer may take to come up" },
	{ "spin_us", &settings.spin_us, 20, 0, 1000 * 1000,
		"microseconds that a wait spins before it sleeps" },
};

static void parameter_read(const struct parameter *p)
{
	size_t value;
	*p->value = p->normal;
	fi_param_define(&provider, p->name, FI_PARAM_SIZE_T,
		"%s (%zu to %zu, default %zu)", p->help, p->least, p->most,
		p->normal);
	if (fi_param_get_size_t(&provider, p->name, &value))
		return;
	if (value >= p->least && value <= p->most)
		*p->value = value;
	else
		LOG_WARN(CORE, "%s is %zu, not within %zu to %zu: taking %zu\n",
			p->name, value, p->least, p->most, p->normal);
}

/* What libfabric hands out is the environment's, which may change. */
static void node_read(void)
{
	char *name;
	fi_param_define(&provider, "node", FI_PARAM_STRING,
		"name of the Cay node (default: CAY_NODE, else the batch "
		"job's id, else \"default\")");
	if (fi_param_get_str(&provider, "node", &name) == 0 && *name)
		settings.node = strdup(name);
}

FI_EXT_INI
{
	node_read();
	for (unsigned i = 0; i < ARRAY_COUNT(parameters); i++)
		parameter_read(&parameters[i]);
	return &provider;
}

/* ---- errors ---- */

int provider_error(int error)
{
	switch (-error) {
	case EPIPE:
	case ENXIO:
	case ESRCH:
	case ECONNRESET:
		return -FI_EHOSTUNREACH;
	case ECHILD:
		return -FI_EOPBADSTATE;
	case ENOBUFS:
		return -FI_ENOMEM;
	case ENFILE:
		return -FI_EMFILE;
	case EEXIST:
		return -FI_EADDRINUSE;
	case EPROTO:
	case EBADMSG:
	case EPROTONOSUPPORT:
		return -FI_EOTHER;
	default: /* libfabric has the same numbers for the others */
		return error;
	}
}

static const int device_errors[CAY_ERROR_COUNT] = {
	[CAY_ERROR_ORIGIN_WINDOW] = FI_EKEYREJECTED,
	[CAY_ERROR_TARGET_WINDOW] = FI_EKEYREJECTED,
	[CAY_ERROR_CAPABILITY] = FI_EKEYREJECTED,
	[CAY_ERROR_ORIGIN_BOUNDS] = FI_EINVAL,
	[CAY_ERROR_TARGET_BOUNDS] = FI_EINVAL,
	[CAY_ERROR_ORIGIN_OFFSET_ALIGN] = FI_EINVAL,
	[CAY_ERROR_ORIGIN_LENGTH_ALIGN] = FI_EINVAL,
	[CAY_ERROR_TARGET_OFFSET_ALIGN] = FI_EINVAL,
	[CAY_ERROR_TARGET_LENGTH_ALIGN] = FI_EINVAL,
	[CAY_ERROR_ORIGIN_LOCKED] = FI_EACCES,
	[CAY_ERROR_TARGET_LOCKED] = FI_EACCES,
	[CAY_ERROR_RIGHTS] = FI_EACCES,
	[CAY_ERROR_REALM] = FI_EACCES,
	[CAY_ERROR_TARGET_VPID] = FI_EHOSTUNREACH,
	[CAY_ERROR_UNREACHABLE] = FI_EHOSTUNREACH,
	[CAY_ERROR_GONE] = FI_EHOSTUNREACH,
	[CAY_ERROR_TIMEOUT] = FI_ECANCELED,
	[CAY_ERROR_MEMORY] = FI_EFAULT,
	[CAY_ERROR_POSTED_ADDRESS] = FI_EFAULT,
	[CAY_ERROR_POSTED_TRUNCATED] = FI_ETRUNC,
	[CAY_ERROR_NO_ROOM] = FI_ENOMEM,
};

int provider_device_error(int code)
{
	int error = 0;
	if (code >= 0 && code < CAY_ERROR_COUNT)
		error = device_errors[code];
	return error ? error : FI_EIO;
}

/* ---- calls that there are not ---- */

int no_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	(void)fid, (void)other, (void)flags;
	return -FI_ENOSYS;
}

int no_control(struct fid *fid, int command, void *argument)
{
	(void)fid, (void)command, (void)argument;
	return -FI_ENOSYS;
}

int no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
	void *context)
{
	(void)fid, (void)name, (void)flags, (void)ops, (void)context;
	return -FI_ENOSYS;
}

int no_tostr(const struct fid *fid, char *text, size_t bytes)
{
	(void)fid, (void)text, (void)bytes;
	return -FI_ENOSYS;
}

int no_ops_set(struct fid *fid, const char *name, uint64_t flags, void *ops,
	void *context)
{
	(void)fid, (void)name, (void)flags, (void)ops, (void)context;
	return -FI_ENOSYS;
}
