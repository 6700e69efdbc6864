/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The raw interface: a work request is a VCI of 64 bytes, a notification an NQE
 * of 64 bytes, and a trigger executes posted VCIs. An invalid VCI is completed
 * with an error. cay_contract(7) describes the layouts.
 *
 *	cc raw.c -o raw $(pkg-config --cflags --libs cay) && ./raw
 */
#include "example.h"

#include <inttypes.h>
#include <string.h>

#define TEXT	"raw words"
#define TAG	0x91
#define API_TAG 0xa

static void words_print(const char *name, const uint64_t *word)
{
	printf("%s\n", name);
	for (int i = 0; i < CAY_WORDS; i += 2)
		printf("  word %d: %016" PRIx64 "  word %d: %016" PRIx64 "\n",
			i, word[i], i + 1, word[i + 1]);
}

/* A FAST_SEND with its payload inline and a completion. */
static struct cay_vci fast_send(const struct cay_peer *peer)
{
	const uint64_t bytes = sizeof(TEXT) - 1;
	struct cay_vci vci = { { 0 } };
	vci.word[CAY_VCI_WORD_COMMAND] =
		CAY_FAST_SEND | (bytes + 7) / 8 |
		(uint64_t)CAY_VCI_NOTIFY << CAY_VCI_FLAGS_SHIFT |
		CAY_VCI_ROUTE_LOCAL |
		(uint64_t)cay_peer_route(peer) << CAY_VCI_ROUTING_OFFSET_SHIFT;
	vci.word[CAY_VCI_WORD_TARGET] =
		cay_peer_addr(peer).vpid | bytes << CAY_VCI_BYTES_SHIFT |
		(uint64_t)API_TAG << CAY_VCI_API_TAG_SHIFT;
	vci.word[CAY_VCI_WORD_TAG] = TAG;
	memcpy(&vci.word[CAY_VCI_WORD_DATA], TEXT, bytes);
	return vci;
}

static void issue(struct cay_port *port, const struct cay_vci *vci)
{
	check("cay_vci_post", cay_vci_post(port, vci));
	struct cay_answer answer = cay_trigger(port, CAY_ISSUE_VCI, 1);
	printf("trigger: %d accepted, %d entries of the work queue free\n",
		(int)answer.accepted, (int)answer.free);
	expect(answer.accepted == 1, "the VCI is accepted");
}

/* Waits for the next NQE, copies it and returns its entry. */
static struct cay_nqe next_nqe(struct cay_port *port)
{
	const struct cay_nqe *next;
	while (!(next = cay_nqe_next(port)))
		check("cay_wait", cay_wait(port, deadline()));
	struct cay_nqe nqe = *next;
	if (cay_trigger(port, CAY_ISSUE_NQ, 1).accepted != 1)
		errx(1, "cay_trigger: the entry was not returned");
	return nqe;
}

/* The completion of the VCI with TAG. */
static int completed(struct cay_port *port, enum cay_error error)
{
	struct cay_nqe nqe = next_nqe(port);
	uint64_t valid = nqe.word[CAY_NQE_WORD_VALID];
	unsigned code = (valid & CAY_COMMAND_ERROR_MASK) >>
			CAY_COMMAND_ERROR_SHIFT;
	printf("completion: %s\n", cay_error_text(code));
	return (valid & CAY_COMMAND_MASK) == CAY_NOTIFY_CC &&
	       nqe.word[CAY_NQE_WORD_TAG] == TAG && code == (unsigned)error;
}

int main(void)
{
	struct cay_port *origin = port_open(NULL);
	struct cay_port *target = port_open(NULL);
	struct cay_peer *peer;

	check("cay_peer_resolve",
		cay_peer_resolve(origin, cay_port_addr(target), &peer));

	struct cay_vci vci = fast_send(peer);
	words_print("VCI", vci.word);
	issue(origin, &vci);
	struct cay_nqe nqe = next_nqe(target);
	uint64_t valid = nqe.word[CAY_NQE_WORD_VALID];
	words_print("NQE", nqe.word);
	expect((valid & CAY_COMMAND_MASK) == CAY_NOTIFY_FAST_RECV &&
			nqe.word[CAY_NQE_WORD_TAG] == TAG &&
			nqe.word[CAY_NQE_WORD_PEER] >> CAY_NQE_API_TAG_SHIFT ==
				API_TAG &&
			memcmp(&nqe.word[CAY_NQE_WORD_DATA], TEXT,
				sizeof(TEXT) - 1) == 0,
		"the NQE has the tags and the payload of the VCI");
	expect(completed(origin, CAY_ERROR_NONE), "the VCI is complete");

	/* A notification is not a command that a VCI may have. */
	vci.word[CAY_VCI_WORD_COMMAND] &= ~(uint64_t)CAY_COMMAND_MASK;
	vci.word[CAY_VCI_WORD_COMMAND] |= CAY_NOTIFY_STATUS;
	issue(origin, &vci);
	expect(completed(origin, CAY_ERROR_COMMAND),
		"an invalid VCI is completed with an error");

	cay_peer_release(peer);
	check("cay_port_close", cay_port_close(origin));
	check("cay_port_close", cay_port_close(target));
	return 0;
}
