/* Answers lines of a test with lines: the kit's own doing, for whoever wants to compare.
 * In, one a line: `encode KIND VALUE…`, `decode HEX`, `key …`, `seal shoe|host KIND VALUE…`,
 * `open shoe|host HEX`, `mask COMMAND_ID KEY_ID HEX`, `crc HEX`, `hash KEY HEX`.
 * Values stand in the order of the layout: numbers in decimal, bytes in hex.
 * Out: for each line what it gave, a line each, then `.`. Nothing of this belongs into a shoe.
 */
#define SHOE_TABLES
#include "shoe_blake2s.h"
#include "shoe_codec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_LINE 65536

static struct shoe_transcript agreed;
static uint8_t agreed_key[32];
static struct shoe_seal seals[2]; /* of the shoe's frames, of the host's */

static const char *const results[] = {
    "ok", "stuffing", "crc", "version", "mac", "sent before", "kind", "length", "field",
};

static size_t from_hex(const char *hex, uint8_t *out, size_t room)
{
    static const char digits[] = "0123456789abcdef";
    size_t size = 0;

    while (hex != NULL && hex[0] != 0 && hex[1] != 0 && size < room) {
        const char *high = strchr(digits, hex[0]), *low = strchr(digits, hex[1]);
        if (high == NULL || low == NULL) {
            break;
        }
        out[size++] = (uint8_t)((high - digits) << 4 | (low - digits));
        hex += 2;
    }
    return size;
}

static void hex_line(const uint8_t *bytes, size_t size)
{
    size_t n;
    for (n = 0; n < size; n++) {
        printf("%02x", bytes[n]);
    }
    putchar('\n');
}

static const char *word(void)
{
    return strtok(NULL, " \n");
}

static uint32_t number(void)
{
    const char *text = word();
    return text == NULL ? 0 : (uint32_t)strtoul(text, NULL, 10);
}

static struct shoe_seal *direction(void)
{
    const char *who = word();
    return &seals[who != NULL && strcmp(who, "host") == 0];
}

static const struct shoe_layout *layout_of(unsigned long kind)
{
    size_t n;
    for (n = 0; n < sizeof shoe_layouts / sizeof *shoe_layouts; n++) {
        if (shoe_layouts[n].kind == kind) {
            return &shoe_layouts[n];
        }
    }
    return NULL;
}

static void put_number(uint8_t *at, size_t size, const char *text)
{
    uint64_t eight = text == NULL ? 0 : strtoull(text, NULL, 10);
    uint8_t one = (uint8_t)eight;
    uint16_t two = (uint16_t)eight;
    uint32_t four = (uint32_t)eight;

    memcpy(at, size == 1 ? (void *)&one : size == 2 ? (void *)&two : size == 4 ? (void *)&four : &eight,
           size);
}

static uint64_t get_number(const uint8_t *at, size_t size)
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

static void encode(struct shoe_seal *seal)
{
    struct shoe_message message;
    uint8_t out[SHOE_MAX_FRAME];
    const struct shoe_layout *layout;
    size_t n, size;

    memset(&message, 0, sizeof message);
    message.kind = (uint8_t)number();
    layout = layout_of(message.kind);
    for (n = 0; layout != NULL && n < layout->fields; n++) {
        uint8_t *at = (uint8_t *)&message + layout->field[n].at;
        if (layout->field[n].is_number) {
            put_number(at, layout->field[n].size, word());
        } else {
            from_hex(word(), at, layout->field[n].size);
        }
    }
    size = shoe_encode(&message, seal, out);
    if (size == 0) {
        puts("refused");
    } else {
        hex_line(out, size);
    }
}

static void show(const struct shoe_message *message)
{
    const struct shoe_layout *layout = layout_of(message->kind);
    size_t n, m;

    printf("%u", message->kind);
    for (n = 0; n < layout->fields; n++) {
        const uint8_t *at = (const uint8_t *)message + layout->field[n].at;
        putchar(' ');
        if (layout->field[n].is_number) {
            printf("%" PRIu64, get_number(at, layout->field[n].size));
        } else {
            for (m = 0; m < layout->field[n].size; m++) {
                printf("%02x", at[m]);
            }
        }
    }
    putchar('\n');
}

/* A stream of its own: what is no frame is told too. */
static void decode(struct shoe_seal *seal)
{
    static uint8_t bytes[LONGEST_LINE / 2];
    struct shoe_receiver receiver;
    size_t count = from_hex(word(), bytes, sizeof bytes), n;

    memset(&receiver, 0, sizeof receiver);
    for (n = 0; n < count; n++) {
        size_t size = shoe_receive(&receiver, bytes[n]);
        struct shoe_message message;
        enum shoe_result result;
        if (size == 0) {
            continue;
        }
        result = shoe_unwrap(receiver.stuffed, &size);
        if (result == SHOE_OK) {
            result = shoe_read(receiver.stuffed, size, seal, &message);
        }
        if (result == SHOE_OK) {
            show(&message);
        } else {
            printf("refused %s\n", results[result]);
        }
    }
    if (receiver.discarded > 0) {
        printf("discarded %" PRIu32 "\n", receiver.discarded);
    }
}

static void agree(void)
{
    uint8_t proof[SHOE_PROOF_BYTES];

    memset(&agreed, 0, sizeof agreed);
    from_hex(word(), agreed_key, sizeof agreed_key);
    agreed.key_id = number();
    from_hex(word(), agreed.host_nonce, sizeof agreed.host_nonce);
    from_hex(word(), agreed.shoe_nonce, sizeof agreed.shoe_nonce);
    agreed.boot_id = number();
    from_hex(word(), agreed.device_id, sizeof agreed.device_id);
    shoe_seal_start(&seals[0], agreed_key, SHOE_LABEL_FROM_SHOE, &agreed);
    shoe_seal_start(&seals[1], agreed_key, SHOE_LABEL_FROM_HOST, &agreed);
    shoe_prove(agreed_key, &agreed, proof);
    hex_line(proof, sizeof proof);
    hex_line(seals[0].key, sizeof seals[0].key);
    hex_line(seals[1].key, sizeof seals[1].key);
}

static void mask(void)
{
    uint8_t key[32];
    uint32_t command_id = number(), key_id = number();

    from_hex(word(), key, sizeof key);
    shoe_mask_key(agreed_key, &agreed, command_id, key_id, key);
    hex_line(key, sizeof key);
}

static void sums(int keyed)
{
    static uint8_t bytes[LONGEST_LINE / 2];
    uint8_t key[32] = {0}, out[SHOE_BLAKE2S_BYTES];
    struct shoe_blake2s hash;
    size_t size;

    if (!keyed) {
        size = from_hex(word(), bytes, sizeof bytes);
        printf("%" PRIu32 "\n", shoe_crc32(bytes, size));
        return;
    }
    from_hex(word(), key, sizeof key);
    size = from_hex(word(), bytes, sizeof bytes);
    shoe_blake2s_start(&hash, key);
    shoe_blake2s_add(&hash, bytes, size / 3); /* in two pieces: it must not matter */
    shoe_blake2s_add(&hash, bytes + size / 3, size - size / 3);
    shoe_blake2s_end(&hash, out);
    hex_line(out, sizeof out);
}

static void answer(const char *asked)
{
    if (strcmp(asked, "encode") == 0) {
        encode(NULL);
    } else if (strcmp(asked, "decode") == 0) {
        decode(NULL);
    } else if (strcmp(asked, "seal") == 0) {
        encode(direction());
    } else if (strcmp(asked, "open") == 0) {
        decode(direction());
    } else if (strcmp(asked, "key") == 0) {
        agree();
    } else if (strcmp(asked, "mask") == 0) {
        mask();
    } else {
        sums(strcmp(asked, "hash") == 0);
    }
}

int main(void)
{
    static char line[LONGEST_LINE];

    while (fgets(line, sizeof line, stdin) != NULL) {
        const char *asked = strtok(line, " \n");
        if (asked != NULL) {
            answer(asked);
        }
        puts(".");
        fflush(stdout);
    }
    return 0;
}
