/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry points of a device, one set per platform: DEVICE(name) is
 * device_<name> in the client library and counting_<name> on the counting
 * platform. The node has only those of entry_repair.h.
 */
#include "device/entry_repair.h"

int DEVICE(send)(struct origin *, struct op_record *,
	_Atomic(struct context *) *to, const struct packet *);
/*
 * Up to 40 bytes without flags. The arguments have the order of cay_send() and
 * cay_send_tagged(), so that they stay in their registers. These calls count
 * what they accept and refuse; of the others the caller does.
 */
int DEVICE(send_fast)(struct origin *, _Atomic(struct context *) *to,
	uint64_t tag, const void *data, size_t length, struct op_record *);
int DEVICE(send_fast_tagged)(struct origin *, _Atomic(struct context *) *to,
	uint64_t tag, uint32_t api_tag, const void *data, size_t length,
	struct op_record *);
/* The same for more than 40 bytes, up to QUEUE_PAYLOAD_MAX. */
int DEVICE(send_eager)(struct origin *, _Atomic(struct context *) *to,
	uint64_t tag, const void *data, size_t length, struct op_record *);
int DEVICE(send_eager_tagged)(struct origin *, _Atomic(struct context *) *to,
	uint64_t tag, uint32_t api_tag, const void *data, size_t length,
	struct op_record *);
/*
 * Sends 1 to QUEUE_CLAIM_MAX messages of up to 40 bytes without flags; the
 * caller has checked that. Returns how many are sent, or -EAGAIN or -EPIPE if
 * none is.
 */
int DEVICE(send_burst)(struct origin *, struct op_record *,
	_Atomic(struct context *) *to, const struct cay_message *,
	uint32_t count);
int DEVICE(send_reference)(struct origin *, struct op_record *,
	_Atomic(struct context *) *to, const struct packet *,
	const struct reference *source, uint32_t *index);
/*
 * Sends a message that it copies into `staging`, the memory of `source`. The
 * caller owns slot `index`, from REFERENCE_COPIED on. Returns as send().
 */
int DEVICE(send_copied)(struct origin *, struct op_record *,
	_Atomic(struct context *) *to, const struct packet *,
	const struct reference *source, unsigned char *staging, uint32_t index);

/*
 * Remote memory. Returns 0; 1 (refused, with an error completion); -EAGAIN;
 * -EPIPE; or the result of origin.send_emulated().
 */
int DEVICE(access)(struct origin *, struct op_record *,
	_Atomic(struct context *) *to, const struct packet *);
/*
 * Without flags, with a fast path for mapped memory. The arguments have the
 * order of the public calls, and these calls count, as send_fast() does. The
 * key is valid; the previous value of an atomic is stored at *previous.
 */
int DEVICE(put)(struct origin *, _Atomic(struct context *) *to, struct cay_key,
	uint64_t offset, const void *data, size_t length, uint64_t tag,
	struct op_record *);
int DEVICE(get)(struct origin *, _Atomic(struct context *) *to, struct cay_key,
	uint64_t offset, void *data, size_t length, uint64_t tag,
	struct op_record *);
int DEVICE(fetch_add)(struct origin *, _Atomic(struct context *) *to,
	struct cay_key, uint64_t offset, uint64_t addend, uint64_t *previous,
	uint64_t tag, struct op_record *);
int DEVICE(compare_swap)(struct origin *, _Atomic(struct context *) *to,
	struct cay_key, uint64_t offset, uint64_t compare, uint64_t swap,
	uint64_t *previous, uint64_t tag, struct op_record *);
/*
 * Executes an emulated access at its target: only the owner knows the address
 * of the window in its process. Returns 0, a positive enum cay_error, or
 * -EPIPE. Sends no notification: the caller does, by the *rights of the window.
 */
int DEVICE(execute_emulated)(struct context *own, struct op_record *,
	const struct packet *, const struct origin_window *, struct response *,
	uint32_t *rights);

bool DEVICE(post)(struct origin *, const struct cay_vci *);
struct cay_answer DEVICE(trigger)(struct origin *, struct op_record *,
	enum cay_issue, unsigned parameter);

/* Writes a NOTIFY_STATUS, for which the caller has reserved a completion. */
void DEVICE(status)(struct origin *, struct op_record *);

/* Returns true if this entry of a replaced queue set is fenced. */
bool DEVICE(fenced)(const struct context *, uint64_t position);
/* The node has exited before its list was final: no entry is fenced. */
void DEVICE(unfence)(const struct context *);
void DEVICE(return_entries)(struct context *own, uint64_t r);
uint64_t DEVICE(sleep)(struct context *own, uint64_t next, uint64_t flag);
void DEVICE(cancel_sleep)(struct context *own, uint64_t flag);
/* Sleeps on the W of sleep(). Returns 0, -ETIMEDOUT or -EINTR. */
int DEVICE(sleep_on)(struct context *own, uint64_t w, uint64_t deadline);
/* Wakes other threads that sleep on W. */
void DEVICE(wake_consumers)(struct context *own);
/* Returns true if the node has closed the port. */
bool DEVICE(closed)(const struct context *own);
/* The consumer has left a queue set that was replaced. */
void DEVICE(leave)(struct context *own);
/*
 * A sender sleeps until the target returns entries, unless it has since
 * r_before was loaded. Returns 0, -ETIMEDOUT or -EINTR.
 */
int DEVICE(await_room)(
	struct context *to, uint64_t r_before, uint64_t deadline);
bool DEVICE(reference_begin)(struct reference *, uint32_t sequence);
/*
 * Copies a slot out of shared memory at the target. Returns false if it is free
 * or in use for another operation than `sequence`.
 */
bool DEVICE(reference_read)(
	const struct reference *, uint32_t sequence, struct reference *copy);
/* Adds to the outcome that the origin, or the node, reads after DONE. */
void DEVICE(reference_outcome)(
	struct reference *, uint32_t sequence, uint32_t bits);
bool DEVICE(reference_withdraw)(struct reference *);
/* Makes the DONE slot of a copied message FREE; false: it is not DONE. */
bool DEVICE(reference_reclaim)(struct reference *);
bool DEVICE(reference_pending)(const struct origin *, int32_t vpid);
void DEVICE(reference_free)(struct origin *, uint32_t index);
/* Reserves an entry for one completion; returns false if none is left. */
bool DEVICE(reserve_completion)(struct origin *);
/* Completes an instruction of this port; its completion was reserved. */
void DEVICE(complete_own)(
	struct origin *, struct op_record *, const struct completion *);
void DEVICE(completions_returned)(struct origin *, uint32_t count);

/* The same with a NOTIFY_ULTRA. */
void DEVICE(complete_ultra)(
	struct origin *, struct op_record *, const struct completion *);
/*
 * Injects a message of up to 48 bytes; ultra_full() has said that a slice is
 * free. Returns false if the page has other flags than ENABLED.
 */
bool DEVICE(ultra_inject_line)(struct ultra_requester *, uint64_t tag,
	const void *data, size_t length);
/*
 * The same for every length, with flags. Returns 0, 1 (stored, but the page has
 * other flags than ENABLED), -EAGAIN (all slices are in use), or -EBADMSG (the
 * target has returned an impossible position).
 */
int DEVICE(ultra_inject)(struct ultra_requester *, uint64_t tag,
	const void *data, size_t length, unsigned flags);
/* Returns the position that the target has returned. Any thread. */
uint64_t DEVICE(ultra_returned)(const struct ultra_requester *);
/*
 * Takes the next message. Returns its length, | ULTRA_WAKE if the origin
 * sleeps; -EAGAIN (none), -EMSGSIZE (it is longer than `size` and stays), or
 * -EBADMSG. `tag` may be NULL.
 */
int DEVICE(ultra_receive)(
	struct ultra_completer *, uint64_t *tag, void *buffer, size_t size);
/* Finds the next message; returns as ultra_peek(). */
int DEVICE(ultra_peek)(const struct ultra_completer *, struct ultra_message *);
/* Advances past it. True: wake the origin. */
bool DEVICE(ultra_take)(struct ultra_completer *, unsigned flags);
/* Returns all slices. True: wake the origin. */
bool DEVICE(ultra_return)(struct ultra_completer *);
/*
 * Wakes the consumer of the port at the other end, which is in this realm;
 * follows migrations. `ring` as in interrupt().
 */
void DEVICE(wake_peer)(_Atomic(struct context *) *, bool ring);
