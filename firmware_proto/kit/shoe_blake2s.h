/* BLAKE2s (RFC 7693) with a key of 32 bytes and 32 bytes of output: all that the profile uses.
 * In: a key, bytes in any pieces. Out: 32 bytes. It keeps nothing and allocates nothing.
 */
#ifndef SHOE_BLAKE2S_H
#define SHOE_BLAKE2S_H

#include <stddef.h>
#include <stdint.h>

#define SHOE_BLAKE2S_BYTES 32u

struct shoe_blake2s {
    uint32_t state[8];
    uint32_t count_low, count_high; /* bytes that were mixed in */
    uint8_t block[64];
    uint8_t filled;
};

void shoe_blake2s_start(struct shoe_blake2s *hash, const uint8_t key[32]);
void shoe_blake2s_add(struct shoe_blake2s *hash, const uint8_t *data, size_t size);
void shoe_blake2s_end(struct shoe_blake2s *hash, uint8_t out[SHOE_BLAKE2S_BYTES]);

#endif
