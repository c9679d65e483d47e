/* Keys, proofs and MACs: SPEC.md, section 7.
 * In: keys, nonces, bodies. Out: proofs, bodies with counter and MAC, whether a MAC holds.
 * Nonces are the firmware's to make: from a true source of chance, never the same twice.
 */
#ifndef SHOE_SEAL_H
#define SHOE_SEAL_H

#include "shoe_wire.h"

#include <stddef.h>

enum shoe_label {
    SHOE_LABEL_PROOF = 1,
    SHOE_LABEL_FROM_SHOE = 2,
    SHOE_LABEL_FROM_HOST = 3,
    SHOE_LABEL_NEW_KEY = 4
};

/* What one challenge and its answer agreed on. */
struct shoe_transcript {
    uint32_t key_id;
    uint8_t host_nonce[SHOE_NONCE_BYTES];
    uint8_t shoe_nonce[SHOE_NONCE_BYTES];
    uint32_t boot_id;
    uint8_t device_id[SHOE_DEVICE_ID_BYTES]; /* filled with 00, as in hello */
};

/* One direction of a connection: for a sender the counter of the last frame that it sealed, for a
 * receiver that of the last one that it took. */
struct shoe_seal {
    uint8_t key[32];
    uint32_t counter;
};

enum shoe_verdict { SHOE_HOLDS, SHOE_WRONG_MAC, SHOE_OLD_COUNTER };

/* The first 16 bytes for challenge_answered. */
void shoe_prove(const uint8_t key[32], const struct shoe_transcript *said, uint8_t proof[SHOE_PROOF_BYTES]);

/* Both directions start so after a challenge: SHOE_LABEL_FROM_SHOE, SHOE_LABEL_FROM_HOST. */
void shoe_seal_start(struct shoe_seal *seal, const uint8_t key[32], enum shoe_label direction,
                     const struct shoe_transcript *said);

/* A new key as rotate_key carries it, and back. */
void shoe_mask_key(const uint8_t key[32], const struct shoe_transcript *said, uint32_t command_id,
                   uint32_t new_key_id, uint8_t new_key[32]);

/* Sets the version of a body and puts counter and MAC behind it, where there has to be room for
 * SHOE_SEAL_BYTES. Its new size; 0 when the counter is used up. */
size_t shoe_seal_body(struct shoe_seal *seal, uint8_t *body, size_t size);

/* Whether the MAC of a body with counter and MAC holds, and it was not taken before: once. */
enum shoe_verdict shoe_open_body(struct shoe_seal *seal, const uint8_t *body, size_t size);

#endif
