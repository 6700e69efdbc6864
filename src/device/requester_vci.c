/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests: checks of a VCI at its origin, and its packet. */

static inline struct packet requester_frame(
	const struct origin *o, const struct cay_vci *v)
{
	return (struct packet){
		.command = (uint16_t)v->word[0],
		.flags = (uint8_t)(v->word[0] >> CAY_VCI_FLAGS_SHIFT),
		.origin_vpid = o->vpid,
		.origin_node = o->node,
		.tag = v->word[CAY_VCI_WORD_TAG],
		.api_tag = (uint32_t)(v->word[CAY_VCI_WORD_TARGET] >>
				      CAY_VCI_API_TAG_SHIFT),
		.pieces = 1,
	};
}

/* PUT and GET name an origin window; other VCIs contain their data. */
static bool requester_two_windows(unsigned command)
{
	unsigned operation = command_operation(command);
	return operation == CAY_PUT || operation == CAY_GET;
}

/*
 * Builds the packet of a checked VCI. *data is its payload: in the VCI, the SDR
 * or the origin window; of a FAST_GET, and of an atomic, `fetched`.
 */
static void requester_packet(const struct origin *o, const struct cay_vci *v,
	uint64_t fetched[CAY_FAST_PUT_WORDS], struct packet *p,
	struct iovec *data)
{
	unsigned command = command_operation((unsigned)v->word[0]);
	uint64_t bytes = (v->word[CAY_VCI_WORD_TARGET] >> CAY_VCI_BYTES_SHIFT) &
			 0xffff;
	*p = requester_frame(o, v);
	if (command == CAY_FAST_SEND) {
		*data = (struct iovec){ (void *)&v->word[CAY_VCI_WORD_DATA],
			bytes };
	} else if (command == CAY_SEND) {
		*data = (struct iovec){
			o->sdr + v->word[CAY_VCI_WORD_SDR_OFFSET],
			v->word[CAY_VCI_WORD_LENGTH]
		};
	} else {
		uint64_t window = v->word[CAY_VCI_WORD_WINDOW];
		p->window = (uint16_t)window;
		p->capability = window >> CAY_VCI_CAPABILITY_SHIFT;
		p->offset = v->word[CAY_VCI_WORD_OFFSET];
		p->operand[0] = v->word[CAY_VCI_WORD_OPERAND];
		p->operand[1] = v->word[CAY_VCI_WORD_OPERAND + 1];
		p->origin_lock = o->lock_word;
		*data = (struct iovec){ fetched, bytes };
		if (requester_two_windows(command))
			*data = (struct iovec){
				o->windows[v->word[CAY_VCI_WORD_ORIGIN]].base +
					v->word[CAY_VCI_WORD_ORIGIN_OFFSET],
				v->word[CAY_VCI_WORD_BYTES]
			};
		else if (command == CAY_FAST_PUT)
			data->iov_base = (void *)&v->word[CAY_VCI_WORD_OPERAND];
		else if (command != CAY_FAST_GET)
			data->iov_len = 8;
	}
	p->length = data->iov_len;
	p->payload = command_is_word(command) ? NULL : data;
}

/* Checks bounds, and in word mode alignment, of memory of the origin. */
static enum cay_error requester_check_memory(
	const struct origin *o, uint64_t offset, uint64_t bytes, uint64_t size)
{
	if (!bits_inside(offset, bytes, size))
		return CAY_ERROR_ORIGIN_BOUNDS;
	if (o->word_mode != WORD_MODE_VCI)
		return CAY_ERROR_NONE;
	if (offset % 8)
		return CAY_ERROR_ORIGIN_OFFSET_ALIGN;
	return bytes % 8 ? CAY_ERROR_ORIGIN_LENGTH_ALIGN : CAY_ERROR_NONE;
}

/* Checks the window and its lock, then the memory. */
static enum cay_error requester_check_origin(
	const struct origin *o, const struct cay_vci *v)
{
	uint64_t id = v->word[CAY_VCI_WORD_ORIGIN];
	uint64_t offset = v->word[CAY_VCI_WORD_ORIGIN_OFFSET];
	uint64_t bytes = v->word[CAY_VCI_WORD_BYTES];
	if (!o->windows || id >= o->window_count || !o->windows[id].base)
		return CAY_ERROR_ORIGIN_WINDOW;
	uint64_t lock = host_load(window_word(&o->wdt[id].lock), HOST_WINDOW);
	if (lock && lock != o->lock_word)
		return CAY_ERROR_ORIGIN_LOCKED;
	return requester_check_memory(o, offset, bytes, o->windows[id].length);
}

static enum cay_error requester_check_send(
	const struct origin *o, const struct cay_vci *v)
{
	uint64_t offset = v->word[CAY_VCI_WORD_SDR_OFFSET];
	uint64_t bytes = v->word[CAY_VCI_WORD_LENGTH];
	return requester_check_memory(o, offset, bytes, o->sdr_bytes);
}
