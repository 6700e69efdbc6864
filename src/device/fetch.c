/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fetch: copies VCIs from the work queue of a port, each once. Word 0 is loaded
 * first; its generation says whether the entry is filled in.
 */
static inline uint8_t fetch_generation(const struct origin *o, uint32_t count)
{
	return (uint8_t)((count >> o->wq_log2) + 1);
}

static inline struct cay_vci *fetch_entry(
	const struct origin *o, uint32_t count)
{
	return &o->wq[count & ((1u << o->wq_log2) - 1)];
}

/* F1 pairs with F2 in fetch_post(). */
static inline bool fetch_vci(const struct origin *o, struct cay_vci *copy)
{
	uint32_t read = private_load32(&o->device.wq_read);
	struct cay_vci *entry = fetch_entry(o, read);
	copy->word[0] = host_load((_Atomic uint64_t *)&entry->word[0], HOST_WQ);
	if (copy->word[0] >> CAY_VCI_GENERATION_SHIFT !=
		fetch_generation(o, read))
		return false;
	for (int i = 1; i < CAY_WORDS; i++)
		copy->word[i] = host_read(&entry->word[i], HOST_WQ);
	return true;
}

/* Posts a VCI, word 0 last. Returns false if the queue is full. */
static inline bool fetch_post(struct origin *o, const struct cay_vci *v)
{
	uint32_t write = private_load32(&o->client.wq_write);
	if (write - private_load32(&o->device.wq_read) == 1u << o->wq_log2)
		return false;
	struct cay_vci *entry = fetch_entry(o, write);
	uint64_t first = v->word[0] << 8 >> 8 |
			 (uint64_t)fetch_generation(o, write)
				 << CAY_VCI_GENERATION_SHIFT;
	for (int i = 1; i < CAY_WORDS; i++)
		host_write(&entry->word[i], v->word[i], HOST_WQ);
	host_store(
		(_Atomic uint64_t *)&entry->word[0], first, HOST_WQ); /* F2 */
	private_store32(&o->client.wq_write, write + 1);
	return true;
}
