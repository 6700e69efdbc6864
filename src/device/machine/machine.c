/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Set-up, ports, cycles; see machine.h. With all units one translation unit per
 * platform, which defines MACHINE() and includes its host before this file.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "device/ack.h"
#include "device/packet.h"
#include "device/queue.h"
#include "device/ultra.h"

/* The units of the direct path, with claims of the machine's own. */
/* clang-format off */
#include "device/record.c"
#include "device/room.c"
#include "device/machine/claim.c"
#include "device/notify.c"
#include "device/reference.c"
#include "device/window.c"
#include "device/translate.c"
#include "device/completer.c"
#include "device/posted.c"
#include "device/responder.c"
#include "device/ack.c"
#include "device/route.c"
#include "device/requester_vci.c"
#include "device/fetch.c"
#include "device/status.c"
#include "device/ultra.c"
/* clang-format on */

#include "device/machine/state.h"

/* Contexts are in the machine's memory; a platform may count the accesses. */
static inline void host_context_load(const struct machine *m, uint32_t port)
{
	host_after(HOST_LOAD, HOST_CONTEXT, &m->ports[port], CAY_LINE, false);
}

static inline void host_context_write_back(
	const struct machine *m, uint32_t port)
{
	host_after(HOST_STORE, HOST_CONTEXT, &m->ports[port], CAY_LINE, false);
}

static inline bool host_wire(struct machine *m, uint32_t node, bool response,
	const void *bytes, size_t size)
{
	return m->wire->send(m->wire, node, response, bytes, size);
}

/* Reports an event to the observer, if there is one. */
static inline bool host_observed(const struct machine *m)
{
	return unlikely(m->observer != NULL);
}

static void host_note(const struct machine *m, struct machine_note n)
{
	n.cycle = m->counts.cycles;
	n.node = m->node;
	m->observer(m->observer_to, &n);
}

/* clang-format off */
#include "device/machine/observation.c"
#include "device/machine/csb.c"
#include "device/machine/scoreboard.c"
#include "device/machine/pipeline.c"
#include "device/machine/fetch_unit.c"
#include "device/machine/issue.c"
#include "device/machine/transmit_unit.c"
#include "device/machine/request_unit.c"
#include "device/machine/park.c"
#include "device/machine/receive.c"
#include "device/machine/lock.c"
#include "device/machine/respond_unit.c"
#include "device/machine/target_unit.c"
#include "device/machine/ultra_requester_unit.c"
#include "device/machine/ultra_completer_unit.c"
#include "device/machine/ultra_path.c"
#include "device/machine/complete_unit.c"
#include "device/machine/notify_unit.c"
/* clang-format on */

static enum stage_result unit_execute(
	struct machine *m, enum unit_kind kind, uint32_t item, uint32_t stage)
{
	switch (kind) {
	case UNIT_REQUESTER:
		return requester_stage(m, item, stage);
	case UNIT_ULTRA_REQUESTER:
		return ultra_requester_stage(m, item, stage);
	case UNIT_ULTRA_COMPLETER:
		return ultra_completer_stage(m, item, stage);
	default:
		return target_stage(m, item, stage);
	}
}

/* From the end of the pipelines to their beginning: one stage per cycle. */
bool MACHINE(step)(struct machine *m)
{
	m->busy = false;
	m->counts.cycles++;
	ack_step(m);
	notify_step(m);
	retire_step(m);
	complete_step(m);
	unpark_step(m);
	bool ultra_first = m->ultra_first;
	if (ultra_first)
		ultra_requester_step(m);
	for (int kind = 0; kind < UNIT_HOST_KINDS; kind++)
		for (uint32_t u = 0; u < m->unit_count[kind]; u++)
			pipeline_step(
				m, (enum unit_kind)kind, &m->units[kind][u]);
	if (!ultra_first)
		ultra_requester_step(m);
	ultra_completer_step(m);
	dispatch_step(m);
	issue_step(m);
	fetch_step(m);
	return m->busy;
}

bool MACHINE(idle)(const struct machine *m)
{
	return ultra_unit_empty(&m->units[UNIT_ULTRA_REQUESTER][0]) &&
	       m->ultra_active.count == 0 && m->ultra_returning.count == 0 &&
	       m->csb_used == 0 && m->notify.count == 0 && m->ack.count == 0 &&
	       m->assembly_used == 0 &&
	       m->request_free_count == m->config.requests &&
	       m->arrival_free_count == m->arrival_count;
}

/* ---- software ---- */

bool MACHINE(post)(struct machine *m, uint16_t vpid, const struct cay_vci *v)
{
	uint32_t port = port_find(m, vpid);
	return port != NONE && fetch_post(&m->ports[port].origin, v);
}

struct cay_answer MACHINE(trigger)(struct machine *m, uint16_t vpid,
	enum cay_issue command, unsigned parameter)
{
	uint32_t port = port_find(m, vpid);
	unsigned plain = (unsigned)command & (MACHINE_STATUS - 1);
	if (port == NONE)
		return (struct cay_answer){ .reason = CAY_ERROR_ORIGIN_VPID };
	if (plain == CAY_ISSUE_BARRIER || plain > CAY_ISSUE_POSTED ||
		(unsigned)command >= 2 * MACHINE_STATUS)
		return (struct cay_answer){ .reason = CAY_ERROR_COMMAND };
	if (parameter == 0 || parameter > CAY_ISSUE_PARAMETER_MAX)
		parameter = CAY_ISSUE_PARAMETER_MAX;
	if (plain == CAY_ISSUE_SNAPSHOT)
		parameter = 1;
	return csb_insert(m, port, (unsigned)command, parameter);
}

uint64_t MACHINE(peek)(struct context *own, uint64_t position)
{
	return notify_peek(own, position);
}

void MACHINE(return_entries)(struct context *own, uint64_t r)
{
	notify_return(own, r);
}

void MACHINE(completions_returned)(struct machine *m, uint16_t vpid, uint32_t n)
{
	uint32_t port = port_find(m, vpid);
	if (port == NONE)
		return;
	/* Software may say more than is true. */
	struct origin *o = &m->ports[port].origin;
	uint32_t reserved = private_load32(&o->device.completions);
	ack_unreserve(o, (uint32_t)bits_min(n, reserved));
}

/* ---- ports ---- */

struct origin *MACHINE(origin)(struct machine *m, uint16_t vpid)
{
	uint32_t port = port_find(m, vpid);
	return port == NONE ? NULL : &m->ports[port].origin;
}

static void port_hash(struct machine *m)
{
	memset(m->by_vpid, 0xff, (m->by_vpid_mask + 1ull) * sizeof(uint32_t));
	for (uint32_t port = 0; port < m->port_max; port++) {
		if (!m->ports[port].own)
			continue;
		uint32_t i = m->ports[port].origin.vpid * 0x9e3779b1u &
			     m->by_vpid_mask;
		while (m->by_vpid[i] != NONE)
			i = (i + 1) & m->by_vpid_mask;
		m->by_vpid[i] = port;
	}
}

int MACHINE(attach)(struct machine *m, struct context *own)
{
	uint32_t port = 0;
	if (port_find(m, own->vpid) != NONE)
		return -EEXIST;
	while (port < m->port_max &&
		(m->ports[port].own || m->ports[port].requests ||
			m->ports[port].retiring || m->ports[port].active))
		port++;
	if (port == m->port_max)
		return -ENOSPC;
	struct machine_port *p = &m->ports[port];
	if (origin_load(&p->origin, own, m->node) != 0)
		return -EBADMSG;
	/* From here on only the machine advances W. */
	own->w = host_load(&own->control->w, HOST_W) & ~W_FLAGS;
	/* Private memory of software is out of its reach. */
	private_store32(&own->process_memory_denied, 1);
	p->own = own;
	p->first_epoch = (uint32_t)(p->origin.lock_word >> 32);
	p->csb_first = p->csb_last = NONE;
	p->request_first = p->request_last = NONE;
	p->parked_first = p->parked_last = NONE;
	p->csb_count = p->parked = 0;
	p->stuck_since = 0;
	p->retried = false;
	p->counts = (struct machine_port_counts){ 0 };
	port_hash(m);
	return 0;
}

void MACHINE(detach)(struct machine *m, uint16_t vpid)
{
	uint32_t port = port_find(m, vpid);
	if (port == NONE)
		return;
	struct machine_port *p = &m->ports[port];
	while (p->csb_first != NONE)
		csb_remove(m, p);
	for (uint32_t n = m->active.count; n; n--) {
		uint32_t other = ring_pop(&m->active);
		if (other != port)
			ring_push(&m->active, other);
	}
	p->active = false;
	for (uint32_t at = p->request_first; at != NONE;
		at = m->requests[at].next)
		m->requests[at].abandoned = true;
	if (p->parked)
		unpark(m, port);
	/* Nothing names the port any more: it can be attached again at once. */
	for (uint32_t i = 0; i < m->config.assemblies; i++)
		if (m->assemblies[i].port == port) {
			m->assemblies[i].port = NONE;
			if (m->assemblies[i].state == ASSEMBLY_OPEN)
				m->assemblies[i].state = ASSEMBLY_REFUSED;
		}
	for (uint32_t i = 0; i < m->arrival_count; i++)
		if (m->arrivals[i].port == port)
			m->arrivals[i].port = NONE;
	for (uint32_t i = 0; i < m->notify.count; i++) {
		struct notice *n = &m->notices[ring_position(&m->notify, i)];
		if (n->port == port)
			n->port = NONE;
	}
	ultra_detach(m, port);
	MACHINE(holder_gone)
	(m, &(struct machine_peer){ m->node, p->first_epoch, vpid });
	p->own = NULL;
	port_hash(m);
}

void MACHINE(node_gone)(struct machine *m, uint32_t node)
{
	for (uint32_t i = 0; i < m->holder_count; i++) {
		struct machine_peer holder = m->holders[i];
		if (holder.node == node)
			MACHINE(holder_gone)(m, &holder);
	}
	ultra_peer_gone(m, &(struct machine_peer){ .node = node }, true);
	for (uint32_t i = 0; i < MACHINE_ROUTES; i++)
		m->routes[i].gone |= m->routes[i].peer.node == node;
	for (uint32_t i = 0; i < m->arrival_count; i++) {
		struct arrival *a = &m->arrivals[i];
		if (a->header.origin_node == node && arrival_segmented(a) &&
			!a->response)
			a->dropped = true;
	}
	for (uint32_t i = 0; i < m->config.assemblies; i++) {
		struct assembly *t = &m->assemblies[i];
		if (t->state == ASSEMBLY_FREE || t->first.origin_node != node)
			continue;
		assembly_void(m, t);
		assembly_free(m, t);
	}
	for (uint32_t i = 0; i < m->config.requests; i++) {
		struct request *r = &m->requests[i];
		if (!r->remote || r->peer.node != node)
			continue;
		if (r->state == REQUEST_SENT)
			request_complete(m, r, CAY_ERROR_GONE);
		if (r->state == REQUEST_EXECUTING) {
			r->refused = true;
			r->error = CAY_ERROR_GONE;
		}
	}
}

/* ---- set-up ---- */

int MACHINE(route)(struct machine *m, uint32_t index,
	const struct machine_peer *peer, const struct routing_string *string)
{
	if (index >= MACHINE_ROUTES || routing_string_check(string) != 0)
		return -EINVAL;
	m->routes[index] = (struct machine_route){
		.peer = *peer, .string = *string, .used = true
	};
	return 0;
}

void MACHINE(connect)(struct machine *m, struct wire_port *wire)
{
	m->wire = wire;
}

void MACHINE(observe)(struct machine *m, machine_observer observer, void *to)
{
	m->observer = observer;
	m->observer_to = to;
}

void MACHINE(delay)(struct machine *m, uint32_t max, uint64_t seed)
{
	m->delay_max = max;
	m->random = seed;
}

const struct machine_counts *MACHINE(counts)(const struct machine *m)
{
	return &m->counts;
}

const struct machine_port_counts *MACHINE(port_counts)(
	const struct machine *m, uint16_t vpid)
{
	uint32_t port = port_find(m, vpid);
	return port == NONE ? NULL : &m->ports[port].counts;
}

const struct machine_config *MACHINE(configuration)(const struct machine *m)
{
	return &m->config;
}

static bool ring_open(struct ring *r, uint32_t size)
{
	r->size = size;
	r->item = calloc(size, sizeof(*r->item));
	return r->item || size == 0;
}

static bool unit_open(
	struct machine *m, enum unit_kind kind, uint32_t count, uint32_t stages)
{
	m->unit_count[kind] = count;
	m->unit_stages[kind] = stages;
	m->units[kind] = calloc(count, sizeof(struct unit));
	if (!m->units[kind])
		return false;
	for (uint32_t u = 0; u < count; u++) {
		struct unit *unit = &m->units[kind][u];
		for (uint32_t s = 0; s < UNIT_STAGES_MAX; s++)
			unit->item[s] = NONE;
		unit->wait_key =
			calloc(m->config.wait_entries + 1, sizeof(uint64_t));
		if (!unit->wait_key ||
			!ring_open(&unit->wait, m->config.wait_entries))
			return false;
	}
	return true;
}

static bool machine_allocate(struct machine *m)
{
	const struct machine_config *c = &m->config;
	uint32_t slots = 4;
	while (slots < 2 * m->port_max)
		slots *= 2;
	m->by_vpid_mask = slots - 1;
	m->ports = calloc(m->port_max, sizeof(*m->ports));
	m->by_vpid = calloc(slots, sizeof(*m->by_vpid));
	m->csb = calloc(c->csb_entries, sizeof(*m->csb));
	m->requests = calloc(c->requests, sizeof(*m->requests));
	m->request_free = calloc(c->requests, sizeof(uint32_t));
	m->arrival_count = c->packets + c->ultra_packets;
	m->arrivals = calloc(m->arrival_count, sizeof(*m->arrivals));
	m->arrival_free = calloc(m->arrival_count, sizeof(uint32_t));
	m->assemblies = calloc(c->assemblies, sizeof(*m->assemblies));
	m->notices = calloc(c->notify_entries, sizeof(*m->notices));
	m->acks = calloc(c->ack_entries, sizeof(*m->acks));
	m->holders = calloc(c->holders, sizeof(*m->holders));
	m->routes = calloc(MACHINE_ROUTES, sizeof(*m->routes));
	m->requester_ports =
		calloc(c->ultra_ports, sizeof(*m->requester_ports));
	m->completer_ports =
		calloc(c->ultra_ports, sizeof(*m->completer_ports));
	m->ultra_queue =
		aligned_alloc(CAY_LINE, (size_t)c->ultra_lines * CAY_LINE);
	m->line_owner = calloc(c->ultra_lines, sizeof(*m->line_owner));
	m->ultra_notes = calloc(c->ultra_lines, sizeof(*m->ultra_notes));
	m->encoded = malloc(PACKET_BYTES_MAX(c->mtu));
	if (!m->ports || !m->by_vpid || !m->csb || !m->requests ||
		!m->request_free || !m->arrivals || !m->arrival_free ||
		!m->assemblies || !m->notices || !m->acks || !m->holders ||
		!m->routes || !m->encoded || !m->requester_ports ||
		!m->completer_ports || !m->ultra_queue || !m->line_owner ||
		!m->ultra_notes)
		return false;
	memset(m->line_owner, 0xff, c->ultra_lines * sizeof(*m->line_owner));
	for (uint32_t i = 0; i < m->arrival_count; i++) {
		m->arrivals[i].bytes = malloc(c->mtu);
		if (!m->arrivals[i].bytes)
			return false;
		m->arrival_free[i] = m->arrival_count - 1 - i;
	}
	for (uint32_t i = 0; i < c->requests; i++)
		m->request_free[i] = c->requests - 1 - i;
	for (uint32_t i = 0; i < c->csb_entries; i++)
		m->csb[i].next = i + 1 < c->csb_entries ? i + 1 : NONE;
	m->request_free_count = c->requests;
	m->arrival_free_count = m->arrival_count;
	memset(m->by_vpid, 0xff, slots * sizeof(*m->by_vpid));
	return ring_open(&m->active, m->port_max) &&
	       ring_open(&m->retiring, m->port_max) &&
	       ring_open(&m->issue, c->issue_entries) &&
	       ring_open(&m->resume, c->requests) &&
	       ring_open(&m->incoming, c->packets) &&
	       ring_open(&m->answers, c->packets) &&
	       ring_open(&m->notify, c->notify_entries) &&
	       ring_open(&m->ack, c->ack_entries) &&
	       ring_open(&m->ultra_active, c->ultra_ports) &&
	       ring_open(&m->ultra_returning, c->ultra_ports) &&
	       ring_open(&m->ultra_incoming, c->ultra_packets) &&
	       unit_open(m, UNIT_ULTRA_REQUESTER, 1, ULTRA_STAGES) &&
	       unit_open(m, UNIT_ULTRA_COMPLETER, 1, ULTRA_STAGES) &&
	       unit_open(m, UNIT_REQUESTER, c->requesters, REQUESTER_STAGES) &&
	       unit_open(m, UNIT_COMPLETER, c->completers, TARGET_STAGES) &&
	       unit_open(m, UNIT_RESPONDER, c->responders, TARGET_STAGES);
}

int MACHINE(open)(struct machine **out, const struct machine_config *config,
	uint32_t node, uint32_t ports)
{
	if (machine_config_invalid(config) || !ports || ports > CAY_VPIDS)
		return -EINVAL;
	struct machine *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->config = *config;
	m->node = node;
	m->port_max = ports;
	if (!machine_allocate(m)) {
		MACHINE(close)(m);
		return -ENOMEM;
	}
	*out = m;
	return 0;
}

void MACHINE(close)(struct machine *m)
{
	if (!m)
		return;
	for (int kind = 0; kind < UNIT_KINDS; kind++) {
		for (uint32_t u = 0; m->units[kind] && u < m->unit_count[kind];
			u++) {
			free(m->units[kind][u].wait.item);
			free(m->units[kind][u].wait_key);
		}
		free(m->units[kind]);
	}
	for (uint32_t i = 0; m->arrivals && i < m->arrival_count; i++)
		free(m->arrivals[i].bytes);
	struct ring *rings[] = { &m->active, &m->retiring, &m->issue,
		&m->resume, &m->incoming, &m->answers, &m->notify, &m->ack,
		&m->ultra_active, &m->ultra_returning, &m->ultra_incoming };
	for (unsigned i = 0; i < ARRAY_COUNT(rings); i++)
		free(rings[i]->item);
	free(m->ports);
	free(m->by_vpid);
	free(m->csb);
	free(m->requests);
	free(m->request_free);
	free(m->arrivals);
	free(m->arrival_free);
	free(m->assemblies);
	free(m->notices);
	free(m->acks);
	free(m->holders);
	free(m->requester_ports);
	free(m->completer_ports);
	free(m->ultra_queue);
	free(m->line_owner);
	free(m->ultra_notes);
	free(m->routes);
	free(m->encoded);
	free(m);
}
