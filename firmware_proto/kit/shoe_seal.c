#include "shoe_seal.h"

#include "shoe_blake2s.h"

#include <string.h>

#define MAC_BYTES (SHOE_SEAL_BYTES - SHOE_COUNTER_BYTES)

static void put4(uint8_t out[4], uint32_t value)
{
    unsigned n;
    for (n = 0; n < 4; n++) {
        out[n] = (uint8_t)(value >> 8 * n);
    }
}

static void add4(struct shoe_blake2s *hash, uint32_t value)
{
    uint8_t bytes[4];
    put4(bytes, value);
    shoe_blake2s_add(hash, bytes, sizeof bytes);
}

static void secret(const uint8_t key[32], enum shoe_label label, const struct shoe_transcript *said,
                   const uint8_t *more, size_t more_size, uint8_t out[32])
{
    struct shoe_blake2s hash;
    uint8_t first = (uint8_t)label;

    shoe_blake2s_start(&hash, key);
    shoe_blake2s_add(&hash, &first, 1);
    add4(&hash, said->key_id);
    shoe_blake2s_add(&hash, said->host_nonce, sizeof said->host_nonce);
    shoe_blake2s_add(&hash, said->shoe_nonce, sizeof said->shoe_nonce);
    add4(&hash, said->boot_id);
    shoe_blake2s_add(&hash, said->device_id, sizeof said->device_id);
    shoe_blake2s_add(&hash, more, more_size);
    shoe_blake2s_end(&hash, out);
}

void shoe_prove(const uint8_t key[32], const struct shoe_transcript *said, uint8_t proof[SHOE_PROOF_BYTES])
{
    uint8_t whole[32];
    secret(key, SHOE_LABEL_PROOF, said, NULL, 0, whole);
    memcpy(proof, whole, SHOE_PROOF_BYTES);
}

void shoe_seal_start(struct shoe_seal *seal, const uint8_t key[32], enum shoe_label direction,
                     const struct shoe_transcript *said)
{
    secret(key, direction, said, NULL, 0, seal->key);
    seal->counter = 0;
}

void shoe_mask_key(const uint8_t key[32], const struct shoe_transcript *said, uint32_t command_id,
                   uint32_t new_key_id, uint8_t new_key[32])
{
    uint8_t ids[8], mask[32];
    unsigned n;

    put4(ids, command_id);
    put4(ids + 4, new_key_id);
    secret(key, SHOE_LABEL_NEW_KEY, said, ids, sizeof ids, mask);
    for (n = 0; n < 32; n++) {
        new_key[n] ^= mask[n];
    }
}

static void mac_of(const struct shoe_seal *seal, const uint8_t *bytes, size_t size, uint8_t out[32])
{
    struct shoe_blake2s hash;
    shoe_blake2s_start(&hash, seal->key);
    shoe_blake2s_add(&hash, bytes, size);
    shoe_blake2s_end(&hash, out);
}

size_t shoe_seal_body(struct shoe_seal *seal, uint8_t *body, size_t size)
{
    uint8_t mac[32];

    if (seal->counter == 0xFFFFFFFFu) {
        return 0;
    }
    seal->counter++;
    body[0] = SHOE_SEALED;
    put4(body + size, seal->counter);
    size += SHOE_COUNTER_BYTES;
    mac_of(seal, body, size, mac);
    memcpy(body + size, mac, MAC_BYTES);
    return size + MAC_BYTES;
}

enum shoe_verdict shoe_open_body(struct shoe_seal *seal, const uint8_t *body, size_t size)
{
    uint8_t mac[32], differs = 0;
    const uint8_t *told;
    uint32_t counter = 0;
    unsigned n;

    if (size < SHOE_SEAL_BYTES) {
        return SHOE_WRONG_MAC;
    }
    size -= MAC_BYTES;
    told = body + size;
    mac_of(seal, body, size, mac);
    for (n = 0; n < MAC_BYTES; n++) { /* all of them: how long it takes tells nothing */
        differs |= (uint8_t)(mac[n] ^ told[n]);
    }
    if (differs) {
        return SHOE_WRONG_MAC;
    }
    for (n = 0; n < SHOE_COUNTER_BYTES; n++) {
        counter |= (uint32_t)body[size - SHOE_COUNTER_BYTES + n] << 8 * n;
    }
    if (counter <= seal->counter) {
        return SHOE_OLD_COUNTER;
    }
    seal->counter = counter;
    return SHOE_HOLDS;
}
