/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Set-up and end of ULTRA paths: the privileged page of the ULTRA units. Calls
 * are made between cycles, so that what a unit holds of a port that ends is
 * removed at once.
 */

/* ---- ports ---- */

/*
 * Takes the port after the one that was taken last, and gives it its next UPID:
 * both are used again as late as possible, so that a packet of a former path
 * names no new one.
 */
static bool ultra_end_take(
	struct machine *m, struct ultra_end *e, uint32_t index, uint32_t port)
{
	uint32_t ports = m->config.ultra_ports;
	if (e->state != PATH_FREE)
		return false;
	uint32_t upid = e->upid ? e->upid + ports : index + 1;
	*e = (struct ultra_end){ .state = PATH_OPEN,
		.port = port,
		.upid = (uint16_t)(upid < ULTRA_UPIDS ? upid : index + 1) };
	return true;
}

/* Finds lines of the packet queue that no port has; returns NONE if there are
 * none. */
static uint32_t ultra_lines_find(const struct machine *m, uint32_t lines)
{
	uint32_t run = 0;
	for (uint32_t at = 0; at < m->config.ultra_lines; at++) {
		run = m->line_owner[at] == NONE ? run + 1 : 0;
		if (run == lines)
			return at + 1 - lines;
	}
	return NONE;
}

/* Removes what the requester unit holds of a port. */
static void requester_port_purge(struct machine *m, struct requester_port *c)
{
	struct unit *u = &m->units[UNIT_ULTRA_REQUESTER][0];
	for (uint32_t s = 0; s < ULTRA_STAGES; s++)
		if (u->item[s] != NONE &&
			&m->requester_ports[m->line_owner[u->item[s]]] == c)
			pipeline_clear(u, s);
	c->issued = c->read;
}

static void requester_port_free(struct machine *m, struct requester_port *c)
{
	uint32_t lines = c->entries * (c->entry_bytes / CAY_LINE);
	for (uint32_t i = 0; i < lines; i++)
		m->line_owner[c->line + i] = NONE;
	c->end.state = PATH_FREE;
}

static void completer_port_purge(struct machine *m, struct completer_port *c)
{
	struct unit *u = &m->units[UNIT_ULTRA_COMPLETER][0];
	for (uint32_t s = 0; s < ULTRA_STAGES; s++) {
		uint32_t at = u->item[s];
		/* Before the first stage it has no path, and is checked. */
		if (at == NONE || m->arrivals[at].path !=
					  (uint32_t)(c - m->completer_ports))
			continue;
		ultra_discard(m, at, c);
		pipeline_clear(u, s);
	}
}

/* ---- set-up ---- */

static bool ultra_sizes_valid(
	const struct machine *m, unsigned slice_log2, unsigned slices_log2)
{
	return slice_log2 >= ULTRA_SLICE_LOG2_MIN &&
	       slice_log2 <= ULTRA_SLICE_LOG2_MAX && slices_log2 <= 16 &&
	       (1u << slice_log2) - CAY_ULTRA_TRAILER <= m->config.mtu;
}

int MACHINE(ultra_accept)(
	struct machine *m, const struct machine_ultra_queue *q, uint16_t *tupid)
{
	uint32_t port = port_find(m, q->vpid);
	if (port == NONE)
		return -ENXIO;
	if (!ultra_sizes_valid(m, q->slice_log2, q->slices_log2) || !q->slices)
		return -EINVAL;
	for (uint32_t i = 0; i < m->config.ultra_ports; i++) {
		uint32_t at =
			(m->completer_port_next + i) % m->config.ultra_ports;
		struct completer_port *c = &m->completer_ports[at];
		struct ultra_end end = c->end;
		if (!ultra_end_take(m, &end, at, port))
			continue;
		/* The ring of returns may still name the port. */
		*c = (struct completer_port){ .end = end,
			.returning = c->returning };
		ultra_cursor_init(
			&c->next, q->slices, q->slice_log2, q->slices_log2);
		m->completer_port_next = at + 1;
		*tupid = end.upid;
		return 0;
	}
	return -ENOSPC;
}

int MACHINE(ultra_connect)(struct machine *m, uint16_t vpid,
	const struct machine_ultra_target *t, uint32_t route, uint32_t entries,
	uint16_t *oupid)
{
	uint32_t port = port_find(m, vpid);
	bool remote = t->port.node != m->node;
	if (port == NONE)
		return -ENXIO;
	if (!ultra_sizes_valid(m, t->slice_log2, t->slices_log2) || !entries ||
		entries & (entries - 1) || entries > m->config.ultra_lines)
		return entries > m->config.ultra_lines ? -ENOSPC : -EINVAL;
	if (remote && (route >= MACHINE_ROUTES || !m->routes[route].used ||
			      m->routes[route].peer.node != t->port.node))
		return -EHOSTUNREACH;
	if (remote && m->routes[route].gone)
		return -EPIPE;
	uint32_t lines = entries << (t->slice_log2 - ULTRA_SLICE_LOG2_MIN);
	uint32_t line = ultra_lines_find(m, lines);
	for (uint32_t i = 0; line != NONE && i < m->config.ultra_ports; i++) {
		uint32_t at =
			(m->requester_port_next + i) % m->config.ultra_ports;
		struct requester_port *c = &m->requester_ports[at];
		struct ultra_end end = c->end;
		if (!ultra_end_take(m, &end, at, port))
			continue;
		end.peer = t->port;
		end.peer_upid = t->upid;
		/* The ring of ports with work may still name the port. */
		*c = (struct requester_port){ .end = end,
			.active = c->active,
			.remote = remote,
			.line = line,
			.entries = entries,
			.entry_bytes = 1u << t->slice_log2,
			.slices = 1u << t->slices_log2 };
		if (remote)
			c->string = m->routes[route].string;
		for (uint32_t k = 0; k < lines; k++)
			m->line_owner[line + k] = at;
		m->requester_port_next = at + 1;
		*oupid = end.upid;
		return 0;
	}
	return -ENOSPC;
}

int MACHINE(ultra_admit)(struct machine *m, uint16_t tupid,
	const struct machine_ultra_origin *origin)
{
	struct completer_port *c = completer_port_find(m, tupid);
	if (!c)
		return -ENXIO;
	if (c->end.state != PATH_OPEN)
		return -EINVAL;
	c->end.peer = origin->port;
	c->end.peer_upid = origin->upid;
	c->end.state = PATH_ENABLED;
	return 0;
}

int MACHINE(ultra_enable)(struct machine *m, uint16_t oupid)
{
	struct requester_port *c = requester_port_find(m, oupid);
	if (!c)
		return -ENXIO;
	if (c->end.state != PATH_OPEN)
		return -EINVAL;
	c->end.state = PATH_ENABLED;
	return 0;
}

int MACHINE(ultra_path)(
	const struct machine_ultra_ends *e, uint16_t *oupid, uint16_t *tupid)
{
	uint32_t from = port_find(e->origin, e->vpid);
	int r = MACHINE(ultra_accept)(e->target, &e->queue, tupid);
	if (r)
		return r;
	uint32_t to = port_find(e->target, e->queue.vpid);
	const struct machine_ultra_target target = {
		.port = { e->target->node, e->target->ports[to].first_epoch,
			e->queue.vpid },
		.upid = *tupid,
		.slice_log2 = e->queue.slice_log2,
		.slices_log2 = e->queue.slices_log2
	};
	r = MACHINE(ultra_connect)(
		e->origin, e->vpid, &target, e->route, e->entries, oupid);
	if (r)
		goto err_accept;
	const struct machine_ultra_origin origin = {
		.port = { e->origin->node, e->origin->ports[from].first_epoch,
			e->vpid },
		.upid = *oupid
	};
	r = MACHINE(ultra_admit)(e->target, *tupid, &origin);
	if (r)
		goto err_connect;
	r = MACHINE(ultra_enable)(e->origin, *oupid);
	if (r == 0)
		return 0;
	MACHINE(ultra_origin_gone)(e->target, *tupid);
err_connect:
	MACHINE(ultra_close_origin)(e->origin, *oupid);
err_accept:
	MACHINE(ultra_close_target)(e->target, *tupid);
	return r;
}

/* ---- the end ---- */

/* The notifications that the origin waits for are written first. */
static void requester_port_end(
	struct machine *m, struct requester_port *c, enum path_state state)
{
	requester_port_purge(m, c);
	while (c->read != c->written &&
		!(ultra_entry_flags(m, ultra_entry_at(c, c->read)) &
			CAY_ULTRA_NOTIFY))
		c->read++;
	c->end.state = (uint8_t)state;
	ultra_activate(m, c);
	if (state == PATH_CLOSED && !ultra_ready(m, c))
		requester_port_free(m, c);
}

void MACHINE(ultra_close_origin)(struct machine *m, uint16_t oupid)
{
	struct requester_port *c = requester_port_find(m, oupid);
	if (c && c->end.state != PATH_CLOSED)
		requester_port_end(m, c, PATH_CLOSED);
}

void MACHINE(ultra_target_gone)(struct machine *m, uint16_t oupid)
{
	struct requester_port *c = requester_port_find(m, oupid);
	if (c && c->end.state != PATH_CLOSED)
		requester_port_end(m, c, PATH_GONE);
}

void MACHINE(ultra_close_target)(struct machine *m, uint16_t tupid)
{
	struct completer_port *c = completer_port_find(m, tupid);
	if (!c)
		return;
	completer_port_purge(m, c);
	c->end.state = PATH_FREE;
}

/* What the unit holds has arrived in time. */
void MACHINE(ultra_origin_gone)(struct machine *m, uint16_t tupid)
{
	struct completer_port *c = completer_port_find(m, tupid);
	if (c)
		c->end.state = PATH_GONE;
}

/* A port of this machine is detached: nothing names it any more. */
static void ultra_detach(struct machine *m, uint32_t port)
{
	for (uint32_t i = 0; i < m->config.ultra_ports; i++) {
		struct requester_port *r = &m->requester_ports[i];
		struct completer_port *c = &m->completer_ports[i];
		if (r->end.state != PATH_FREE && r->end.port == port) {
			requester_port_purge(m, r);
			requester_port_free(m, r);
			r->read = r->issued = r->written;
			r->notes = 0;
		}
		if (c->end.state != PATH_FREE && c->end.port == port)
			MACHINE(ultra_close_target)(m, c->end.upid);
	}
}

static bool ultra_end_with(
	const struct ultra_end *e, const struct machine_peer *p, bool node)
{
	return (e->state == PATH_OPEN || e->state == PATH_ENABLED) &&
	       e->peer_upid && e->peer.node == p->node &&
	       (node || (e->peer.vpid == p->vpid && e->peer.epoch == p->epoch));
}

/* A port is gone, or all those of a node. */
static void ultra_peer_gone(
	struct machine *m, const struct machine_peer *p, bool node)
{
	for (uint32_t i = 0; i < m->config.ultra_ports; i++) {
		const struct ultra_end *r = &m->requester_ports[i].end;
		const struct ultra_end *c = &m->completer_ports[i].end;
		if (ultra_end_with(r, p, node))
			MACHINE(ultra_target_gone)(m, r->upid);
		if (ultra_end_with(c, p, node))
			MACHINE(ultra_origin_gone)(m, c->upid);
	}
}
