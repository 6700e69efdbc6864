/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry points of the device. */

/* Counts an accepted operation. */
static folded void issue_count(struct op_record *op)
{
	private_store(&op->issued, private_load(&op->issued) + 1);
}

/* ---- messages without flags ---- */

static folded struct packet send_packet(const struct origin *o,
	uint16_t command, uint64_t tag, uint32_t api_tag,
	const struct iovec *payload)
{
	return (struct packet){ .command = command,
		.origin_vpid = o->vpid,
		.origin_node = o->node,
		.tag = tag,
		.api_tag = api_tag,
		.pieces = 1,
		.length = payload->iov_len,
		.payload = payload };
}

/*
 * One attempt: the compiler reduces the whole path to the claim, the stores and
 * the publication. Posted buffers need another path, as a migration does.
 */
static folded int send_once(struct origin *o, struct context *to,
	uint16_t command, uint64_t tag, uint32_t api_tag, const void *data,
	size_t length, struct op_record *op)
{
	const struct iovec payload = { (void *)data, length };
	const struct packet p = send_packet(o, command, tag, api_tag, &payload);
	if (command == CAY_SEND &&
		unlikely(host_load32(&to->control->posted, HOST_W)))
		return -ESTALE;
	int r = requester_issue(o, op, to, &p, NULL, false);
	if (likely(!r))
		issue_count(op);
	return r;
}

/* Out of line, so that an attempt that succeeds saves no registers. */
__attribute__((cold, noinline)) static int send_again(struct origin *o,
	_Atomic(struct context *) *slot, uint16_t command, uint64_t tag,
	uint32_t api_tag, const void *data, size_t length, struct op_record *op,
	int r)
{
	const struct iovec payload = { (void *)data, length };
	const struct packet p = send_packet(o, command, tag, api_tag, &payload);
	if (r == -EPIPE || r == -ESTALE)
		r = requester_route(o, op, slot, &p, NULL, true);
	if (r == 0)
		issue_count(op);
	else if (r == -EAGAIN)
		private_add(&o->refused, 1);
	return r;
}

static folded int send_plain(struct origin *o, _Atomic(struct context *) *slot,
	uint16_t command, uint64_t tag, uint32_t api_tag, const void *data,
	size_t length, struct op_record *op)
{
	int r = send_once(
		o, host_context(slot), command, tag, api_tag, data, length, op);
	return likely(!r) ? 0
			  : send_again(o, slot, command, tag, api_tag, data,
				    length, op, r);
}

__attribute__((flatten)) int DEVICE(send_fast_tagged)(struct origin *o,
	_Atomic(struct context *) *slot, uint64_t tag, uint32_t api_tag,
	const void *data, size_t length, struct op_record *op)
{
	return send_plain(
		o, slot, CAY_FAST_SEND, tag, api_tag, data, length, op);
}

__attribute__((flatten)) int DEVICE(send_fast)(struct origin *o,
	_Atomic(struct context *) *slot, uint64_t tag, const void *data,
	size_t length, struct op_record *op)
{
	return send_plain(o, slot, CAY_FAST_SEND, tag, 0, data, length, op);
}

__attribute__((flatten)) int DEVICE(send_eager_tagged)(struct origin *o,
	_Atomic(struct context *) *slot, uint64_t tag, uint32_t api_tag,
	const void *data, size_t length, struct op_record *op)
{
	if (length <= CAY_FAST_SEND_BYTES)
		__builtin_unreachable();
	return send_plain(o, slot, CAY_SEND, tag, api_tag, data, length, op);
}

__attribute__((flatten)) int DEVICE(send_eager)(struct origin *o,
	_Atomic(struct context *) *slot, uint64_t tag, const void *data,
	size_t length, struct op_record *op)
{
	if (length <= CAY_FAST_SEND_BYTES)
		__builtin_unreachable();
	return send_plain(o, slot, CAY_SEND, tag, 0, data, length, op);
}

__attribute__((flatten)) int DEVICE(send_burst)(struct origin *o,
	struct op_record *op, _Atomic(struct context *) *to,
	const struct cay_message *messages, uint32_t count)
{
	return requester_burst(o, op, to, messages, count);
}

int DEVICE(send)(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *to, const struct packet *p)
{
	return requester_route(o, op, to, p, NULL, true);
}

int DEVICE(send_reference)(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *to, const struct packet *packet,
	const struct reference *source, uint32_t *index)
{
	struct packet p = *packet;
	return requester_reference(o, op, to, &p, source, index);
}

int DEVICE(send_copied)(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *to, const struct packet *packet,
	const struct reference *source, unsigned char *staging, uint32_t index)
{
	struct packet p = *packet;
	return requester_copied(o, op, to, &p, source, staging, index);
}

int DEVICE(access)(struct origin *o, struct op_record *op,
	_Atomic(struct context *) *to, const struct packet *p)
{
	return requester_access(o, op, to, p);
}

/* ---- remote memory, without flags ---- */

/* Returns the memory of the access, or NULL: the slow path. */
static folded unsigned char *access_begin(const struct origin *o,
	_Atomic(struct context *) *slot, struct cay_key key, uint64_t offset,
	uint64_t bytes, uint32_t right, struct op_record *op)
{
	const struct target t = { key.capability, offset, key.window };
	return requester_fast_begin(o, op, slot, &t, bytes, right);
}

static folded int access_end(struct op_record *op)
{
	requester_fast_end(op);
	issue_count(op);
	return 0;
}

static int access_slow(struct origin *o, _Atomic(struct context *) *slot,
	struct cay_key key, uint64_t offset, const struct packet *p,
	struct op_record *op)
{
	const struct target t = { key.capability, offset, key.window };
	int r = requester_slow_access(o, op, slot, &t, *p);
	if (r >= 0)
		issue_count(op);
	else if (r == -EAGAIN)
		private_add(&o->refused, 1);
	return r;
}

/* Out of line, so that the fast path saves no registers. */
__attribute__((cold, noinline)) static int put_slow(struct origin *o,
	_Atomic(struct context *) *slot, struct cay_key key, uint64_t offset,
	const void *data, size_t length, uint64_t tag, struct op_record *op)
{
	const struct iovec payload = { (void *)(uintptr_t)data, length };
	const struct packet p = { .command = completer_put_command(length),
		.tag = tag,
		.length = length,
		.payload = &payload };
	return access_slow(o, slot, key, offset, &p, op);
}

__attribute__((noinline)) static int put_bytes(unsigned char *at,
	const void *data, size_t length, struct op_record *op)
{
	completer_store(at, data, length);
	return access_end(op);
}

int DEVICE(put)(struct origin *o, _Atomic(struct context *) *slot,
	struct cay_key key, uint64_t offset, const void *data, size_t length,
	uint64_t tag, struct op_record *op)
{
	unsigned char *at =
		access_begin(o, slot, key, offset, length, CAY_RIGHT_WRITE, op);
	if (unlikely(!at))
		return put_slow(o, slot, key, offset, data, length, tag, op);
	if (unlikely(length != 8 || (uintptr_t)at % 8))
		return put_bytes(at, data, length, op);
	completer_words(at, data, 1);
	return access_end(op);
}

__attribute__((cold, noinline)) static int get_slow(struct origin *o,
	_Atomic(struct context *) *slot, struct cay_key key, uint64_t offset,
	void *data, size_t length, uint64_t tag, struct op_record *op)
{
	const struct iovec payload = { data, length };
	const struct packet p = { .command = CAY_GET,
		.tag = tag,
		.length = length,
		.payload = &payload };
	return access_slow(o, slot, key, offset, &p, op);
}

__attribute__((noinline)) static int get_bytes(const unsigned char *at,
	void *data, size_t length, struct op_record *op)
{
	responder_load(data, at, length);
	return access_end(op);
}

int DEVICE(get)(struct origin *o, _Atomic(struct context *) *slot,
	struct cay_key key, uint64_t offset, void *data, size_t length,
	uint64_t tag, struct op_record *op)
{
	const unsigned char *at =
		access_begin(o, slot, key, offset, length, CAY_RIGHT_READ, op);
	if (unlikely(!at))
		return get_slow(o, slot, key, offset, data, length, tag, op);
	if (unlikely(length != 8 || (uintptr_t)at % 8))
		return get_bytes(at, data, length, op);
	uint64_t word;
	responder_words(&word, at, 1);
	memcpy(data, &word, sizeof(word));
	return access_end(op);
}

/* Also for a word that is not aligned: `at` is its memory, or NULL. */
__attribute__((cold, noinline)) static int word_slow(struct origin *o,
	_Atomic(struct context *) *slot, struct cay_key key, uint64_t offset,
	uint64_t first, uint64_t second, uint64_t *previous, uint64_t tag,
	struct op_record *op, uint16_t command, const unsigned char *at)
{
	const struct iovec payload = { previous, 8 };
	const struct packet p = { .command = command,
		.tag = tag,
		.length = 8,
		.operand = { first, second },
		.payload = &payload };
	if (at)
		record_access_end(op);
	return access_slow(o, slot, key, offset, &p, op);
}

int DEVICE(fetch_add)(struct origin *o, _Atomic(struct context *) *slot,
	struct cay_key key, uint64_t offset, uint64_t addend,
	uint64_t *previous, uint64_t tag, struct op_record *op)
{
	unsigned char *at =
		access_begin(o, slot, key, offset, 8, CAY_RIGHT_ATOMIC, op);
	if (unlikely(!at || (offset | (uintptr_t)at) % 8))
		return word_slow(o, slot, key, offset, addend, 0, previous, tag,
			op, CAY_FAA, at);
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)at;
	*previous = responder_add(word, addend).previous;
	return access_end(op);
}

int DEVICE(compare_swap)(struct origin *o, _Atomic(struct context *) *slot,
	struct cay_key key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t *previous, uint64_t tag, struct op_record *op)
{
	unsigned char *at =
		access_begin(o, slot, key, offset, 8, CAY_RIGHT_ATOMIC, op);
	if (unlikely(!at || (offset | (uintptr_t)at) % 8))
		return word_slow(o, slot, key, offset, compare, swap, previous,
			tag, op, CAY_CAS, at);
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)at;
	*previous = responder_swap(word, compare, swap).previous;
	return access_end(op);
}

/* The window is checked as for any origin; the owner knows its address. */
int DEVICE(execute_emulated)(struct context *own, struct op_record *op,
	const struct packet *p, const struct origin_window *window,
	struct response *out, uint32_t *rights)
{
	struct access a;
	int r = window_grant(own, op, p, &a);
	if (r)
		return r;
	*rights = a.rights;
	if (a.owner.pid)
		r = translate_own(own, p, window, &a);
	if (r == 0)
		r = dispatch_granted(own, &a, p, out);
	return window_leave(own, op, p, &a, r);
}

bool DEVICE(post)(struct origin *o, const struct cay_vci *v)
{
	return fetch_post(o, v);
}

struct cay_answer DEVICE(trigger)(struct origin *o, struct op_record *op,
	enum cay_issue command, unsigned parameter)
{
	switch (command) {
	case CAY_ISSUE_VCI:
		return trigger_issue(o, op, parameter);
	case CAY_ISSUE_SNAPSHOT:
		if (ack_reserve(o))
			return trigger_snapshot(o, op);
		return (struct cay_answer){ .reason = CAY_ERROR_NO_RESOURCES };
	default:
		return (struct cay_answer){ .reason = CAY_ERROR_COMMAND };
	}
}

bool DEVICE(fenced)(const struct context *to, uint64_t position)
{
	return notify_fenced(to, position);
}

void DEVICE(unfence)(const struct context *to)
{
	notify_unfence(to);
}

void DEVICE(status)(struct origin *o, struct op_record *op)
{
	trigger_snapshot(o, op);
}

void DEVICE(return_entries)(struct context *own, uint64_t r)
{
	notify_return(own, r);
}

uint64_t DEVICE(sleep)(struct context *own, uint64_t next, uint64_t flag)
{
	return notify_sleep(own, next, flag);
}

void DEVICE(cancel_sleep)(struct context *own, uint64_t flag)
{
	notify_cancel_sleep(own, flag);
}

int DEVICE(sleep_on)(struct context *own, uint64_t w, uint64_t deadline)
{
	return host_sleep_consumer(own, w, deadline);
}

void DEVICE(wake_consumers)(struct context *own)
{
	host_interrupt(own, W_SLEEP);
}

bool DEVICE(closed)(const struct context *own)
{
	return notify_closed(own);
}

void DEVICE(leave)(struct context *own)
{
	notify_leave(own);
}

int DEVICE(await_room)(struct context *to, uint64_t r_before, uint64_t deadline)
{
	uint64_t r = notify_await_room(to, r_before);
	return r ? host_sleep_sender(to, r, deadline) : 0;
}

bool DEVICE(reference_begin)(struct reference *slot, uint32_t sequence)
{
	return reference_begin(slot, sequence);
}

bool DEVICE(reference_read)(
	const struct reference *slot, uint32_t sequence, struct reference *copy)
{
	return reference_read(slot, sequence, copy);
}

void DEVICE(reference_outcome)(
	struct reference *slot, uint32_t sequence, uint32_t bits)
{
	reference_outcome(slot, sequence, bits);
}

bool DEVICE(reference_withdraw)(struct reference *slot)
{
	return reference_withdraw(slot);
}

bool DEVICE(reference_reclaim)(struct reference *slot)
{
	return reference_reclaim(slot);
}

bool DEVICE(reference_pending)(const struct origin *o, int32_t vpid)
{
	return reference_pending(o, vpid);
}

void DEVICE(reference_free)(struct origin *o, uint32_t index)
{
	reference_free(o, index);
}

bool DEVICE(reserve_completion)(struct origin *o)
{
	return ack_reserve(o);
}

void DEVICE(complete_own)(
	struct origin *o, struct op_record *op, const struct completion *c)
{
	ack_own(o, op, c, CAY_NOTIFY_CC);
}

void DEVICE(completions_returned)(struct origin *o, uint32_t count)
{
	ack_unreserve(o, count);
}

void DEVICE(complete_ultra)(
	struct origin *o, struct op_record *op, const struct completion *c)
{
	ack_own(o, op, c, CAY_NOTIFY_ULTRA);
}

bool DEVICE(ultra_inject_line)(struct ultra_requester *u, uint64_t tag,
	const void *data, size_t length)
{
	if (length > COMPLETER_IMMEDIATE_MAX)
		__builtin_unreachable();
	return ultra_inject(u, tag, data, length, 0);
}

int DEVICE(ultra_inject)(struct ultra_requester *u, uint64_t tag,
	const void *data, size_t length, unsigned flags)
{
	int r = ultra_full(u) ? ultra_reload(u) : 0;
	return r ? r : !ultra_inject(u, tag, data, length, flags);
}

uint64_t DEVICE(ultra_returned)(const struct ultra_requester *u)
{
	return ultra_returned(u);
}

__attribute__((noinline)) static int ultra_receive_any(
	struct ultra_completer *u, uint64_t *tag, void *buffer, size_t size)
{
	return ultra_receive(u, tag, buffer, size, false);
}

int DEVICE(ultra_receive)(
	struct ultra_completer *u, uint64_t *tag, void *buffer, size_t size)
{
	int r = ultra_receive(u, tag, buffer, size, true);
	return likely(r != -E2BIG) ? r
				   : ultra_receive_any(u, tag, buffer, size);
}

int DEVICE(ultra_peek)(const struct ultra_completer *u, struct ultra_message *m)
{
	return ultra_peek(u, m);
}

bool DEVICE(ultra_take)(struct ultra_completer *u, unsigned flags)
{
	return ultra_take(u, flags);
}

bool DEVICE(ultra_return)(struct ultra_completer *u)
{
	return ultra_return(u);
}

void DEVICE(wake_peer)(_Atomic(struct context *) *slot, bool ring)
{
	struct context *to;
	do {
		to = host_context(slot);
		notify_interrupt(to, ring);
	} while (host_load(&to->control->w, HOST_W) & W_CLOSED &&
		 host_follow(slot, to));
}
