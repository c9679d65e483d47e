/* Bytes to messages and back: SPEC.md, sections 2 to 5.
 * In: bytes of a line one by one; messages. Out: messages that are whole and unchanged; frames.
 * It keeps no events, knows no time, and allocates nothing; it is as happy on a host as in a shoe.
 */
#ifndef SHOE_CODEC_H
#define SHOE_CODEC_H

#include "shoe_seal.h"
#include "shoe_wire.h"

#include <stddef.h>

#define SHOE_CRC_BYTES 4u
#define SHOE_MAX_STUFFED (SHOE_MAX_BODY_BYTES + 1u)
#define SHOE_MAX_FRAME (SHOE_MAX_STUFFED + 2u) /* with both delimiters */

enum shoe_result {
    SHOE_OK,
    SHOE_BAD_STUFFING,
    SHOE_BAD_CRC,
    SHOE_BAD_VERSION,  /* also: a MAC and no key, or no MAC where one is needed */
    SHOE_BAD_MAC,
    SHOE_SENT_BEFORE,
    SHOE_BAD_KIND,
    SHOE_BAD_LENGTH,
    SHOE_BAD_FIELD
};

/* One stream of bytes. Fill it with 00 when a connection begins. */
struct shoe_receiver {
    uint8_t stuffed[SHOE_MAX_STUFFED];
    uint8_t size;
    uint8_t synchronised; /* a delimiter was seen, and no run that is too long since */
    uint32_t discarded;   /* runs that could be no frame: before the first delimiter, too long */
};

/* The number of bytes in `stuffed` when this byte ended a frame, else 0. They stay there until
 * the next byte. */
size_t shoe_receive(struct shoe_receiver *receiver, uint8_t byte);

/* Takes the stuffing out of what stands between two delimiters, where it stands, and checks the
 * CRC. `size` becomes that of the body: version, kind, payload, and counter and MAC if body[0] is
 * SHOE_SEALED. */
enum shoe_result shoe_unwrap(uint8_t *stuffed, size_t *size);

/* What a body says. With `seal` its MAC has to hold, without one it must have none. The body stays
 * as it is: one that does not hold under a new agreement may be tried under the old one. */
enum shoe_result shoe_read(const uint8_t *body, size_t size, struct shoe_seal *seal,
                           struct shoe_message *message);

/* The frame with both its delimiters, with a MAC where there is a seal. Its size; 0 when a value
 * has no meaning, the kind is none, or the seal is used up. */
size_t shoe_encode(const struct shoe_message *message, struct shoe_seal *seal,
                   uint8_t out[SHOE_MAX_FRAME]);

/* As zlib has it. */
uint32_t shoe_crc32(const uint8_t *bytes, size_t size);

#endif
