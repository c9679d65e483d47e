#define SHOE_TABLES
#include "shoe_codec.h"

#include <string.h>

uint32_t shoe_crc32(const uint8_t *bytes, size_t size)
{
    uint32_t crc = 0xFFFFFFFFu;
    unsigned bit;

    while (size-- > 0) {
        crc ^= *bytes++;
        for (bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1u ? 0xEDB88320u : 0u);
        }
    }
    return crc ^ 0xFFFFFFFFu;
}

size_t shoe_receive(struct shoe_receiver *receiver, uint8_t byte)
{
    size_t size = receiver->size;

    if (byte == 0) {
        receiver->size = 0;
        if (receiver->synchronised) {
            return size;
        }
        receiver->discarded += size > 0;
        receiver->synchronised = 1;
        return 0;
    }
    if (size == SHOE_MAX_STUFFED) { /* longer than any frame: nothing of it counts */
        receiver->synchronised = 0;
        return 0;
    }
    receiver->stuffed[size] = byte;
    receiver->size = (uint8_t)(size + 1);
    return 0;
}

/* --- fields ---------------------------------------------------------------------------------- */

static int in_set(const uint8_t *set, uint8_t value)
{
    return set[value / 8] >> value % 8 & 1;
}

static int is_text(const uint8_t *bytes, size_t size)
{
    while (size > 0 && bytes[size - 1] == 0) {
        size--;
    }
    while (size > 0) {
        size--;
        if (bytes[size] < 0x20 || bytes[size] > 0x7E) {
            return 0;
        }
    }
    return 1;
}

static int are_cards(const uint8_t *bytes, size_t size, const uint8_t *set)
{
    size_t n;
    while (size > 0 && bytes[size - 1] == SHOE_NO_CARD) {
        size--;
    }
    for (n = 0; n < size; n++) {
        if (!in_set(set, bytes[n])) {
            return 0;
        }
    }
    return size >= 2;
}

static int is_not_zero(const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size--;
        if (bytes[size] != 0) {
            return 1;
        }
    }
    return 0;
}

/* Whether the bytes of a field, as they stand on the line, have a meaning. */
static int has_meaning(const struct shoe_field *field, const uint8_t *bytes)
{
    switch (field->rule) {
    case SHOE_POSITIVE:
        return is_not_zero(bytes, field->size);
    case SHOE_ONE_OF:
        return in_set(field->set, bytes[0]);
    case SHOE_PARTS:
        return bytes[1] == 0;
    case SHOE_NAME:
        return bytes[0] != 0 && is_text(bytes, field->size);
    case SHOE_TEXT:
        return is_text(bytes, field->size);
    case SHOE_TOGETHER:
        return are_cards(bytes, field->size, field->set);
    default:
        return 1;
    }
}

static uint64_t number_in(const void *at, size_t size)
{
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;

    switch (size) {
    case 1: memcpy(&one, at, sizeof one); return one;
    case 2: memcpy(&two, at, sizeof two); return two;
    case 4: memcpy(&four, at, sizeof four); return four;
    default: memcpy(&eight, at, sizeof eight); return eight;
    }
}

static void number_out(void *at, size_t size, uint64_t value)
{
    uint8_t one = (uint8_t)value;
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;

    switch (size) {
    case 1: memcpy(at, &one, sizeof one); break;
    case 2: memcpy(at, &two, sizeof two); break;
    case 4: memcpy(at, &four, sizeof four); break;
    default: memcpy(at, &value, sizeof value); break;
    }
}

static void pack(const struct shoe_field *field, const struct shoe_message *message, uint8_t *line)
{
    const uint8_t *at = (const uint8_t *)message + field->at;
    uint64_t value;
    size_t n;

    if (!field->is_number) {
        memcpy(line, at, field->size);
        return;
    }
    value = number_in(at, field->size);
    for (n = 0; n < field->size; n++) { /* whatever the order of bytes in this machine */
        line[n] = (uint8_t)(value >> 8 * n);
    }
}

static void unpack(const struct shoe_field *field, const uint8_t *line, struct shoe_message *message)
{
    uint8_t *at = (uint8_t *)message + field->at;
    uint64_t value = 0;
    size_t n;

    if (!field->is_number) {
        memcpy(at, line, field->size);
        return;
    }
    for (n = 0; n < field->size; n++) {
        value |= (uint64_t)line[n] << 8 * n;
    }
    number_out(at, field->size, value);
}

static const struct shoe_layout *layout_of(uint8_t kind)
{
    size_t n;
    for (n = 0; n < sizeof shoe_layouts / sizeof *shoe_layouts; n++) {
        if (shoe_layouts[n].kind == kind) {
            return &shoe_layouts[n];
        }
    }
    return NULL;
}

/* The one rule that needs two fields. */
static int agrees(const struct shoe_message *message)
{
    return message->kind != SHOE_KIND_EVENTS_LOST ||
           message->as.events_lost.last >= message->as.events_lost.seq;
}

/* --- bodies ---------------------------------------------------------------------------------- */

static enum shoe_result read_body(const uint8_t *body, size_t size, struct shoe_message *message)
{
    const struct shoe_layout *layout;
    size_t n;

    if (size < 2) {
        return SHOE_BAD_LENGTH;
    }
    layout = layout_of(body[1]);
    if (layout == NULL) {
        return SHOE_BAD_KIND;
    }
    body += 2;
    if (size - 2 != layout->size) {
        return SHOE_BAD_LENGTH;
    }
    memset(message, 0, sizeof *message);
    message->kind = layout->kind;
    for (n = 0; n < layout->fields; n++) {
        const struct shoe_field *field = &layout->field[n];
        if (!has_meaning(field, body)) {
            return SHOE_BAD_FIELD;
        }
        unpack(field, body, message);
        body += field->size;
    }
    return agrees(message) ? SHOE_OK : SHOE_BAD_FIELD;
}

static size_t write_body(const struct shoe_message *message, uint8_t *body)
{
    const struct shoe_layout *layout = layout_of(message->kind);
    uint8_t *line = body + 2;
    size_t n;

    if (layout == NULL || !agrees(message)) {
        return 0;
    }
    body[0] = SHOE_VERSION;
    body[1] = layout->kind;
    for (n = 0; n < layout->fields; n++) {
        const struct shoe_field *field = &layout->field[n];
        pack(field, message, line);
        if (!has_meaning(field, line)) {
            return 0;
        }
        line += field->size;
    }
    return (size_t)(line - body);
}

/* --- frames ---------------------------------------------------------------------------------- */

static size_t unstuffed(uint8_t *bytes, size_t size)
{
    size_t from = 0, to = 0;

    while (from < size) {
        uint8_t code = bytes[from++];
        size_t run = (size_t)code - 1;
        if (code == 0 || run > size - from || memchr(bytes + from, 0, run) != NULL) {
            return 0;
        }
        memmove(bytes + to, bytes + from, run);
        from += run;
        to += run;
        if (code != 0xFF && from < size) {
            bytes[to++] = 0;
        }
    }
    return to;
}

static size_t stuffed_into(uint8_t *out, const uint8_t *bytes, size_t size)
{
    size_t code = 0, to = 1, n; /* shorter than 254 bytes: every run fits one code */

    for (n = 0; n < size; n++) {
        if (bytes[n] == 0) {
            out[code] = (uint8_t)(to - code);
            code = to++;
        } else {
            out[to++] = bytes[n];
        }
    }
    out[code] = (uint8_t)(to - code);
    return to;
}

enum shoe_result shoe_unwrap(uint8_t *stuffed, size_t *size)
{
    uint32_t crc = 0;
    unsigned n;

    *size = unstuffed(stuffed, *size);
    if (*size == 0) {
        return SHOE_BAD_STUFFING;
    }
    if (*size < SHOE_CRC_BYTES) {
        return SHOE_BAD_CRC;
    }
    *size -= SHOE_CRC_BYTES;
    for (n = 0; n < SHOE_CRC_BYTES; n++) {
        crc |= (uint32_t)stuffed[*size + n] << 8 * n;
    }
    return crc == shoe_crc32(stuffed, *size) ? SHOE_OK : SHOE_BAD_CRC;
}

enum shoe_result shoe_read(const uint8_t *body, size_t size, struct shoe_seal *seal,
                           struct shoe_message *message)
{
    if (size == 0 || body[0] != (seal == NULL ? SHOE_VERSION : SHOE_SEALED)) {
        return SHOE_BAD_VERSION;
    }
    if (seal != NULL) {
        enum shoe_verdict verdict = shoe_open_body(seal, body, size);
        if (verdict != SHOE_HOLDS) {
            return verdict == SHOE_WRONG_MAC ? SHOE_BAD_MAC : SHOE_SENT_BEFORE;
        }
        size -= SHOE_SEAL_BYTES;
    }
    return read_body(body, size, message);
}

size_t shoe_encode(const struct shoe_message *message, struct shoe_seal *seal,
                   uint8_t out[SHOE_MAX_FRAME])
{
    uint8_t body[SHOE_MAX_BODY_BYTES];
    size_t size = write_body(message, body);
    uint32_t crc;
    unsigned n;

    if (size > 0 && seal != NULL) {
        size = shoe_seal_body(seal, body, size);
    }
    if (size == 0) {
        return 0;
    }
    crc = shoe_crc32(body, size);
    for (n = 0; n < SHOE_CRC_BYTES; n++) {
        body[size++] = (uint8_t)(crc >> 8 * n);
    }
    out[0] = 0;
    size = 1 + stuffed_into(out + 1, body, size);
    out[size++] = 0;
    return size;
}
