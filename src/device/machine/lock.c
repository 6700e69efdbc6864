/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Locks of windows, and quiescence: what the node does on the real clock, at
 * the management page of the machine. Between two cycles no unit is at work, so
 * that neither a barrier nor op records are needed.
 *
 * A lock is a word in the descriptors of all windows on the same memory; an
 * origin passes if the word is its own. That of a port of this node is its
 * lock_word. A port of another node that holds a lock has an entry in a table,
 * whose number is part of the word.
 *
 * The word takes effect at once: what is checked later is refused. The lock is
 * granted when accesses that were checked before have ended. Those that have
 * not begun are checked again if they wait for longer than a cycle; transfers
 * of several packets that have begun end under the lock, so that the holder
 * finds all of a transfer or nothing.
 */

static struct cay_window_descriptor *lock_descriptor(
	const struct machine *m, uint32_t port, uint32_t window)
{
	return &m->ports[port].own->wdt[window];
}

static uint64_t lock_load(
	const struct machine *m, uint32_t port, uint32_t window)
{
	return host_load(window_word(&lock_descriptor(m, port, window)->lock),
		HOST_WINDOW);
}

static void lock_store(
	struct machine *m, uint32_t port, uint32_t window, uint64_t word)
{
	host_store((_Atomic uint64_t *)&lock_descriptor(m, port, window)->lock,
		word, HOST_WINDOW);
}

/* ---- holders ---- */

static uint64_t holder_word(const struct machine *m, uint32_t index)
{
	const struct machine_peer *h = &m->holders[index];
	return window_lock_word(h->vpid, h->epoch) |
	       (uint64_t)(index + 1) << MACHINE_HOLDER_SHIFT;
}

/* Returns the entry of a VPID of another node, or NONE. */
static uint32_t holder_find(
	const struct machine *m, const struct machine_peer *p)
{
	for (uint32_t i = 0; i < m->holder_count; i++)
		if (m->holders[i].vpid == p->vpid &&
			m->holders[i].node == p->node && m->holders[i].epoch)
			return i;
	return NONE;
}

/* Returns the word that identifies a port in locks; 0: it has none. */
static uint64_t lock_word_of(
	const struct machine *m, const struct machine_peer *p)
{
	if (p->node == m->node) {
		uint32_t port = port_find(m, p->vpid);
		return port == NONE || m->ports[port].first_epoch != p->epoch
			       ? 0
			       : m->ports[port].origin.lock_word;
	}
	uint32_t at = holder_find(m, p);
	return at == NONE || m->holders[at].epoch != p->epoch
		       ? 0
		       : holder_word(m, at);
}

/* The sender of a packet. */
static uint64_t lock_word_of_origin(
	const struct machine *m, const struct packet_header *h)
{
	return lock_word_of(m, &(struct machine_peer){ h->origin_node,
				       h->origin_epoch, h->origin_vpid });
}

/* Counts the windows that a word locks, and unlocks them if asked to. */
static uint32_t lock_count(struct machine *m, uint64_t word, bool release)
{
	uint32_t count = 0;
	for (uint32_t port = 0; port < m->port_max; port++)
		for (uint32_t w = 0;
			m->ports[port].own && w < m->ports[port].own->windows;
			w++)
			if (lock_load(m, port, w) == word) {
				if (release)
					lock_store(m, port, w, 0);
				count++;
			}
	return count;
}

/*
 * Returns the word of a holder, with an entry in the table if it is on another
 * node; 0: no such port, or no entry is free.
 */
static uint64_t holder_take(struct machine *m, const struct machine_peer *h)
{
	uint32_t at;
	if (h->node == m->node)
		return lock_word_of(m, h);
	at = holder_find(m, h);
	if (at != NONE && m->holders[at].epoch != h->epoch) {
		/* A former port of this VPID: its locks end. */
		lock_count(m, holder_word(m, at), true);
		m->holders[at] = *h;
	}
	if (at == NONE && m->holder_count < m->config.holders)
		at = m->holder_count++;
	for (uint32_t i = 0; at == NONE && i < m->config.holders; i++)
		if (!m->holders[i].epoch ||
			lock_count(m, holder_word(m, i), false) == 0)
			at = i;
	if (at == NONE || !h->epoch)
		return 0;
	m->holders[at] = *h;
	return holder_word(m, at);
}

static void ultra_peer_gone(
	struct machine *, const struct machine_peer *, bool node);

void MACHINE(holder_gone)(struct machine *m, const struct machine_peer *p)
{
	uint64_t word = lock_word_of(m, p);
	ultra_peer_gone(m, p, false);
	if (!word)
		return;
	lock_count(m, word, true);
	if (p->node != m->node)
		m->holders[holder_find(m, p)].epoch = 0;
}

/* ---- accesses in progress ---- */

/*
 * Returns true if a packet loads or stores in the next cycle without another
 * check, or has begun to.
 */
static bool arrival_accesses(
	const struct machine *m, const struct arrival *a, uint32_t port)
{
	return a->entered && a->port == port &&
	       (a->granted == m->counts.cycles || a->fetched);
}

int MACHINE(window_quiesce)(struct machine *m, uint16_t vpid, uint16_t window)
{
	uint32_t port = port_find(m, vpid);
	for (uint32_t i = 0; port != NONE && i < m->arrival_count; i++) {
		const struct arrival *a = &m->arrivals[i];
		if (arrival_accesses(m, a, port) && !a->fetched &&
			a->packet.window == window)
			return -EAGAIN;
	}
	return 0;
}

/* Returns true if a window of the port is locked by this word. */
static bool lock_covers(
	const struct machine *m, uint32_t port, uint64_t window, uint64_t word)
{
	return window < m->ports[port].own->windows &&
	       lock_load(m, port, (uint32_t)window) == word;
}

/* The origin's side: a PUT reads, maybe again, or a GET will be stored. */
static bool request_accesses(const struct machine *m, const struct request *r)
{
	unsigned operation = command_operation((unsigned)r->vci.word[0]);
	return r->checked && requester_two_windows(operation) &&
	       (r->state == REQUEST_EXECUTING ||
		       ((operation == CAY_GET ||
				r->data.iov_len > m->config.mtu) &&
			       r->state == REQUEST_SENT));
}

/* Returns true if others access windows of a port that this word locks. */
static bool lock_waits(const struct machine *m, uint32_t port, uint64_t word)
{
	const struct machine_port *p = &m->ports[port];
	for (uint32_t i = 0; i < m->arrival_count; i++) {
		const struct arrival *a = &m->arrivals[i];
		if (arrival_accesses(m, a, port) &&
			a->packet.origin_lock != word &&
			lock_covers(m, port, a->packet.window, word))
			return true;
	}
	for (uint32_t i = 0; i < m->config.assemblies; i++) {
		const struct assembly *t = &m->assemblies[i];
		if (t->state == ASSEMBLY_OPEN && t->port == port &&
			command_is_put(t->first.command) &&
			lock_word_of_origin(m, &t->first) != word &&
			lock_covers(m, port, t->first.window, word))
			return true;
	}
	for (uint32_t i = p->request_first;
		i != NONE && p->origin.lock_word != word;
		i = m->requests[i].next)
		if (request_accesses(m, &m->requests[i]) &&
			lock_covers(m, port,
				m->requests[i].vci.word[CAY_VCI_WORD_ORIGIN],
				word))
			return true;
	return false;
}

/* ---- locks ---- */

/*
 * Visits all windows on the same memory. The links between them are written by
 * software: returns -EAGAIN if they do not lead back. Stores `to` where it
 * finds `from`; `check` stores nothing, and fails where it finds another lock.
 */
static int lock_ring(struct machine *m, uint32_t port, uint32_t window,
	uint64_t from, uint64_t to, bool check)
{
	uint32_t at = window, windows = m->ports[port].own->windows;
	for (uint32_t i = 0; i < windows; i++) {
		uint64_t lock = lock_load(m, port, at);
		if (check && lock != from)
			return -EAGAIN;
		if (!check && lock == from)
			lock_store(m, port, at, to);
		const struct cay_window_descriptor *d =
			lock_descriptor(m, port, at);
		at = host_load16_relaxed(
			(const _Atomic uint16_t *)&d->next, HOST_WINDOW);
		if (at == window)
			return 0;
		if (at >= windows)
			break;
	}
	return -EAGAIN;
}

/*
 * Twice: a window that its owner links at the same time has the lock that its
 * owner found, or is found in the second round. See window_link() in
 * port/window.c, and aliases_store() in node/window.c.
 */
static void lock_ring_store(struct machine *m, uint32_t port, uint32_t window,
	uint64_t from, uint64_t to)
{
	for (int round = 0; round < 2; round++) {
		lock_ring(m, port, window, from, to, false);
		host_fence();
	}
}

/* Finds the window of a lock. Returns 0, -EPIPE, -ENXIO or -EACCES. */
static int lock_named(
	const struct machine *m, const struct machine_lock *l, uint32_t *port)
{
	*port = port_find(m, l->vpid);
	if (*port == NONE)
		return -EPIPE;
	if (l->window >= m->ports[*port].own->windows)
		return -ENXIO;
	const struct cay_window_descriptor *d =
		lock_descriptor(m, *port, l->window);
	/* Rights first, as in window_check(). */
	if (!host_load32((const _Atomic uint32_t *)&d->rights, HOST_WINDOW))
		return -ENXIO;
	uint64_t key =
		host_load_relaxed(window_word(&d->capability), HOST_WINDOW);
	return (key ^ l->capability) & CAY_CAPABILITY_MASK ? -EACCES : 0;
}

int MACHINE(window_lock)(struct machine *m, const struct machine_lock *l)
{
	uint32_t port;
	int r = lock_named(m, l, &port);
	if (r)
		return r;
	uint64_t word = holder_take(m, &l->holder);
	if (!word)
		return l->holder.node == m->node ? -ENXIO : -ENOSPC;
	if (lock_load(m, port, l->window) == word)
		return -EALREADY;
	r = lock_ring(m, port, l->window, 0, word, true);
	if (r)
		return r;
	lock_ring_store(m, port, l->window, 0, word);
	return MACHINE(window_locked)(m, l);
}

int MACHINE(window_locked)(struct machine *m, const struct machine_lock *l)
{
	uint64_t word = lock_word_of(m, &l->holder);
	uint32_t port;
	int r = lock_named(m, l, &port);
	if (r)
		return r;
	if (!word || lock_load(m, port, l->window) != word)
		return -EPERM;
	return lock_waits(m, port, word) ? -EINPROGRESS : 0;
}

/* The holder may unlock even if the window was closed or revoked since. */
int MACHINE(window_unlock)(struct machine *m, const struct machine_lock *l)
{
	uint64_t word = lock_word_of(m, &l->holder);
	uint32_t port;
	int r = lock_named(m, l, &port);
	if (port == NONE || l->window >= m->ports[port].own->windows)
		return r;
	if (!word || lock_load(m, port, l->window) != word)
		return r ? r : -EPERM;
	lock_ring_store(m, port, l->window, word, 0);
	return 0;
}
