#include "shoe_blake2s.h"

#include <string.h>

#define BLOCK 64u

static const uint32_t iv[8] = {
    0x6A09E667u, 0xBB67AE85u, 0x3C6EF372u, 0xA54FF53Au,
    0x510E527Fu, 0x9B05688Cu, 0x1F83D9ABu, 0x5BE0CD19u,
};

/* Which words of the block a round takes, in the order in which it takes them. */
static const uint8_t order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint32_t turned(uint32_t word, unsigned bits)
{
    return (word >> bits) | (word << (32u - bits));
}

static void half(uint32_t v[16], const unsigned at[4], uint32_t word, unsigned first, unsigned second)
{
    v[at[0]] += v[at[1]] + word;
    v[at[3]] = turned(v[at[3]] ^ v[at[0]], first);
    v[at[2]] += v[at[3]];
    v[at[1]] = turned(v[at[1]] ^ v[at[2]], second);
}

static void mix(struct shoe_blake2s *hash, uint32_t size, uint32_t last)
{
    uint32_t words[16], v[16];
    unsigned n, round;

    hash->count_low += size;
    hash->count_high += hash->count_low < size;
    for (n = 0; n < 16; n++) {
        const uint8_t *from = hash->block + 4 * n;
        words[n] = (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
                   (uint32_t)from[3] << 24;
    }
    for (n = 0; n < 8; n++) {
        v[n] = hash->state[n];
        v[8 + n] = iv[n];
    }
    v[12] ^= hash->count_low;
    v[13] ^= hash->count_high;
    v[14] ^= last;
    for (round = 0; round < 10; round++) {
        for (n = 0; n < 8; n++) { /* four columns, then four diagonals */
            unsigned slant = n / 4;
            unsigned at[4];
            at[0] = n % 4;
            at[1] = 4 + (n + slant) % 4;
            at[2] = 8 + (n + 2 * slant) % 4;
            at[3] = 12 + (n + 3 * slant) % 4;
            half(v, at, words[order[round][2 * n]], 16, 12);
            half(v, at, words[order[round][2 * n + 1]], 8, 7);
        }
    }
    for (n = 0; n < 8; n++) {
        hash->state[n] ^= v[n] ^ v[8 + n];
    }
}

void shoe_blake2s_start(struct shoe_blake2s *hash, const uint8_t key[32])
{
    memcpy(hash->state, iv, sizeof iv);
    hash->state[0] ^= 0x01010000u ^ 32u << 8 ^ SHOE_BLAKE2S_BYTES; /* lengths of key and output */
    hash->count_low = hash->count_high = 0;
    memset(hash->block, 0, sizeof hash->block);
    memcpy(hash->block, key, 32);
    hash->filled = BLOCK; /* the key is a block of its own, before the data */
}

void shoe_blake2s_add(struct shoe_blake2s *hash, const uint8_t *data, size_t size)
{
    while (size > 0) {
        size_t room;
        if (hash->filled == BLOCK) { /* not before more comes: the last block is mixed otherwise */
            mix(hash, BLOCK, 0);
            hash->filled = 0;
        }
        room = BLOCK - hash->filled;
        if (room > size) {
            room = size;
        }
        memcpy(hash->block + hash->filled, data, room);
        hash->filled = (uint8_t)(hash->filled + room);
        data += room;
        size -= room;
    }
}

void shoe_blake2s_end(struct shoe_blake2s *hash, uint8_t out[SHOE_BLAKE2S_BYTES])
{
    unsigned n;

    memset(hash->block + hash->filled, 0, BLOCK - hash->filled);
    mix(hash, hash->filled, 0xFFFFFFFFu);
    for (n = 0; n < SHOE_BLAKE2S_BYTES; n++) {
        out[n] = (uint8_t)(hash->state[n / 4] >> 8 * (n % 4));
    }
}
