/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses compound option values of `cay sim`; false unless the whole text is
 * valid. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/sim/sim.h"

const char *const sim_switchings[] = { "wormhole", "cut-through", NULL };
const char *const sim_groups[] = { "plain", "dated", "fixed", NULL };

/* ---- parts of a value; these advance the text ---- */

static bool take_number(const char **text, uint64_t most, uint64_t *value)
{
	uint64_t n = 0;
	if (!isdigit((unsigned char)**text))
		return false;
	for (; isdigit((unsigned char)**text); (*text)++) {
		if (n > UINT64_MAX / 10 - 1)
			return false;
		n = n * 10 + (uint64_t)(**text - '0');
	}
	*value = n;
	return n <= most;
}

static bool take_real(const char **text, double *value)
{
	char *end;
	if (!isdigit((unsigned char)**text) && **text != '.')
		return false;
	*value = strtod(*text, &end);
	if (end == *text || !isfinite(*value))
		return false;
	*text = end;
	return true;
}

static bool take(const char **text, char c)
{
	if (**text != c)
		return false;
	(*text)++;
	return true;
}

static bool take_word(const char **text, const char *word)
{
	size_t length = strlen(word);
	if (strncmp(*text, word, length) != 0)
		return false;
	*text += length;
	return true;
}

static bool take_node(const char **text, uint32_t *node)
{
	uint64_t n;
	if (!take_number(text, TOPOLOGY_NODES_MAX - 1, &n))
		return false;
	*node = (uint32_t)n;
	return true;
}

/* ---- values ---- */

/* "8x8x8" */
bool sim_dims_parse(void *options, const char *text)
{
	struct sim_options *c = options;
	uint64_t n;
	c->dims_count = 0;
	c->dims_text = text;
	do {
		if (c->dims_count == TOPOLOGY_GRID_MAX ||
			!take_number(&text, TOPOLOGY_NODES_MAX, &n))
			return false;
		c->dims[c->dims_count++] = (uint32_t)n;
	} while (take(&text, 'x'));
	return *text == 0;
}

static bool load_add(struct sim_options *c, double load)
{
	unsigned n = c->loads_count;
	if (n == SWEEP_LOADS_MAX || !(load > 0) || load > SIM_LOAD_MAX)
		return false;
	if (n && load <= c->loads[n - 1])
		return false;
	c->loads[c->loads_count++] = load;
	return true;
}

/* "0.1:0.5:0.1", or "0.1,0.2,0.4" */
bool sim_loads_parse(void *options, const char *text)
{
	struct sim_options *c = options;
	double from, to, step;
	c->loads_count = 0;
	if (!take_real(&text, &from))
		return false;
	if (!take(&text, ':')) {
		bool valid = load_add(c, from);
		while (valid && take(&text, ','))
			valid = take_real(&text, &from) && load_add(c, from);
		return valid && *text == 0;
	}
	if (!take_real(&text, &to) || !take(&text, ':') ||
		!take_real(&text, &step) || *text || !(step > 0) || from > to)
		return false;
	/* The tolerance includes the last load in spite of rounding errors. */
	for (unsigned i = 0; from + i * step <= to + step * 1e-6; i++) {
		double load = from + i * step;
		if (load > 0 && !load_add(c, fmin(load, to)))
			return false;
	}
	return c->loads_count > 0;
}

/* "link:3:0@1000", "error:3:0@1000" or "node:3@1000" */
bool sim_fault_parse(void *options, const char *text)
{
	struct sim_options *c = options;
	struct sim_fault f = { .kind = NETWORK_NODE_FAILS };
	uint64_t port = 0;
	if (c->faults == SIM_FAULTS_MAX)
		return false;
	bool link = take_word(&text, "link:");
	if (link || take_word(&text, "error:")) {
		f.kind = link ? NETWORK_LINK_FAILS : NETWORK_BIT_ERROR;
		if (!take_node(&text, &f.node) || !take(&text, ':') ||
			!take_number(&text, TOPOLOGY_PORTS_MAX - 1, &port))
			return false;
	} else if (!take_word(&text, "node:") || !take_node(&text, &f.node)) {
		return false;
	}
	f.port = (unsigned)port;
	if (!take(&text, '@') || !take_number(&text, UINT32_MAX, &f.time))
		return false;
	c->fault[c->faults++] = f;
	return *text == 0;
}

/* "links:3@1000", "nodes:1@1000" */
bool sim_fault_random_parse(void *options, const char *text)
{
	struct sim_options *c = options;
	uint64_t count;
	bool links = take_word(&text, "links:");
	if (!links && !take_word(&text, "nodes:"))
		return false;
	struct sim_random *r = links ? &c->random_links : &c->random_nodes;
	if (!take_number(&text, SIM_FAULTS_MAX, &count) || count == 0)
		return false;
	r->count = (uint32_t)count;
	return take(&text, '@') && take_number(&text, UINT32_MAX, &r->time) &&
	       *text == 0;
}

/* "12:0.2" */
bool sim_spot_parse(void *options, const char *text)
{
	struct sim_options *c = options;
	struct traffic *t = &c->study.traffic;
	t->pattern = TRAFFIC_HOT_SPOT;
	return take_node(&text, &t->spot) && take(&text, ':') &&
	       take_real(&text, &t->share) && *text == 0 && t->share > 0 &&
	       t->share <= 1;
}

/* "0:63" */
bool sim_pair_parse(void *options, const char *text)
{
	struct sim_options *c = options;
	c->route = true;
	return take_node(&text, &c->route_from) && take(&text, ':') &&
	       take_node(&text, &c->route_to) && *text == 0;
}
