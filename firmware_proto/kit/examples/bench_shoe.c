/* A whole shoe of the reference profile on a computer: what SPEC.md, sections 6 and 8 to 14, leave
 * to the firmware. Its line is stdin and stdout: a pty, a TCP socket of socat.
 *
 *   bench_shoe [DEVICE_ID [SEED [DRAWN]]]
 *
 * It has eight decks, of which DRAWN cards are out already, a bolt, and a hand that draws as soon as a card is freed. Signals are what
 * else may happen to it: SIGUSR1 opens or closes the lid, SIGUSR2 pulls a card out by force.
 * It has no key, no display and no clock. What a shoe shall keep over a loss of power (section 13)
 * is in RAM here: this one's power lasts as long as the process.
 */
#define _POSIX_C_SOURCE 200809L
#include "shoe_codec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#define DECKS 8u
#define CARDS (DECKS * 52u)
#define BEHIND_CUT 14u
#define MEMORY 256u /* events; one more place is left for events_lost */
#define WINDOW 32u
#define RESEND_MS 250 /* the first wait for an acknowledge; each repeat doubles it */
#define RESEND_MS_MOST 1000
#define STATUS_MS 2000
#define COMMANDS 8u

struct event {
    uint32_t first, last; /* its number; of events_lost the numbers that are lost */
    size_t size;
    uint8_t frame[SHOE_MAX_FRAME];
};

struct answer {
    uint32_t command_id;
    struct shoe_message message;
};

static const char *device_id = "KIT-0001";
static uint8_t cards[CARDS];
static uint16_t drawn, armed;
static uint8_t cutting_card_out, lid_open;
static uint32_t boot_id, next_seq = 1, lost_first, lost_last;
static struct event memory[MEMORY + 1];
static size_t kept, on_way; /* events in memory; those of them that were sent */
static struct answer answers[COMMANDS];
static size_t answered;
static int connected;
static int64_t booted_us, status_at, resend_at, resend_ms = RESEND_MS;
static volatile sig_atomic_t lid_moves, pulls;

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t now_ms(void)
{
    return now_us() / 1000;
}

static void text(uint8_t *field, size_t size, const char *value)
{
    size_t length = strlen(value);

    memset(field, 0, size);
    memcpy(field, value, length < size ? length : size);
}

/* A wire holds nothing: what does not fit while nobody reads is gone. */
static void put(const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, size);
        if (written < 0 && errno != EINTR) {
            return;
        }
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
}

/* Every message of a shoe begins with the same three fields. */
static void begin(struct shoe_message *message, uint8_t kind, uint32_t seq)
{
    memset(message, 0, sizeof *message);
    message->kind = kind;
    message->as.status.seq = seq;
    message->as.status.boot_id = boot_id;
    message->as.status.t_us = (uint64_t)(now_us() - booted_us);
}

static void say(const struct shoe_message *message)
{
    uint8_t frame[SHOE_MAX_FRAME];

    if (connected) {
        put(frame, shoe_encode(message, NULL, frame));
    }
}

static void say_status(void)
{
    struct shoe_message message;

    begin(&message, SHOE_KIND_STATUS, next_seq);
    message.as.status.armed = armed;
    message.as.status.drawn = drawn;
    message.as.status.unacknowledged = (uint32_t)kept;
    say(&message);
    status_at = now_ms() + STATUS_MS;
}

static void say_hello(void)
{
    struct shoe_message message;

    begin(&message, SHOE_KIND_HELLO, next_seq);
    text(message.as.hello.device_id, sizeof message.as.hello.device_id, device_id);
    text(message.as.hello.firmware, sizeof message.as.hello.firmware, "kit-example");
    message.as.hello.capabilities = SHOE_CAN_ARM;
    message.as.hello.deck = SHOE_DECK_FRENCH52;
    message.as.hello.decks = DECKS;
    text(message.as.hello.set_id, sizeof message.as.hello.set_id, "KIT-SET-1");
    message.as.hello.drawn = drawn;
    message.as.hello.cutting_card_out = cutting_card_out;
    message.as.hello.oldest_seq = kept > 0 ? memory[0].first : next_seq;
    say(&message);
}

/* Section 8: at most 32 events are on their way. */
static void send_events(void)
{
    while (connected && on_way < kept && on_way < WINDOW) {
        if (on_way == 0) {
            resend_at = now_ms() + resend_ms;
        }
        put(memory[on_way].frame, memory[on_way].size);
        on_way++;
    }
}

static int memory_is_full(void)
{
    return kept >= MEMORY || lost_first != 0;
}

static void store(const struct shoe_message *message, uint32_t first, uint32_t last)
{
    struct event *event = &memory[kept++];

    event->first = first;
    event->last = last;
    event->size = shoe_encode(message, NULL, event->frame);
    send_events();
}

static void keep(struct shoe_message *message)
{
    uint32_t seq = next_seq++;

    if (memory_is_full()) {
        lost_first = lost_first == 0 ? seq : lost_first;
        lost_last = seq;
        return;
    }
    message->as.status.seq = seq;
    store(message, seq, seq);
}

static void acknowledged(uint32_t through)
{
    size_t gone = 0;

    if (through >= next_seq) {
        return;
    }
    while (gone < kept && memory[gone].last <= through) {
        gone++;
    }
    if (gone == 0) {
        return;
    }
    kept -= gone;
    on_way = on_way > gone ? on_way - gone : 0;
    memmove(memory, memory + gone, kept * sizeof *memory);
    resend_ms = RESEND_MS;
    resend_at = now_ms() + resend_ms;
    if (lost_first != 0) {
        struct shoe_message message;
        begin(&message, SHOE_KIND_EVENTS_LOST, lost_first);
        message.as.events_lost.last = lost_last;
        store(&message, lost_first, lost_last);
        lost_first = lost_last = 0;
    }
    send_events();
}

static void replay_from(uint32_t first)
{
    if (first > next_seq) {
        return;
    }
    on_way = 0;
    while (on_way < kept && memory[on_way].last < first) {
        on_way++;
    }
    resend_ms = RESEND_MS;
    resend_at = now_ms() + resend_ms;
    send_events();
}

/* A card leaves the shoe: freed, or pulled by force. */
static void draw(void)
{
    struct shoe_message message;
    uint8_t was_armed = armed != 0;

    if (drawn >= CARDS) {
        return;
    }
    if (drawn == CARDS - BEHIND_CUT && !cutting_card_out) {
        cutting_card_out = 1;
        begin(&message, SHOE_KIND_CUTTING_CARD, 0);
        keep(&message);
    }
    armed = 0;
    drawn++;
    begin(&message, SHOE_KIND_CARD_DRAWN, 0);
    message.as.card_drawn.number = drawn;
    message.as.card_drawn.card = cards[drawn - 1];
    message.as.card_drawn.armed = was_armed;
    message.as.card_drawn.confidence = 100;
    keep(&message);
    if (drawn == CARDS) {
        begin(&message, SHOE_KIND_SHOE_EMPTY, 0);
        message.as.shoe_empty.drawn = drawn;
        keep(&message);
    }
    say_status();
}

static void move_lid(void)
{
    struct shoe_message message;

    lid_open = !lid_open;
    begin(&message, SHOE_KIND_LID, 0);
    message.as.lid.open = lid_open;
    keep(&message);
}

/* Section 9. */
static void arm(uint16_t number)
{
    uint8_t reason = SHOE_REASON_ACCEPTED;

    if (number <= drawn) {
        reason = SHOE_REASON_ALREADY_DRAWN;
    } else if (number != drawn + 1) {
        reason = SHOE_REASON_NOT_THE_NEXT_DRAW;
    } else if (drawn >= CARDS) {
        reason = SHOE_REASON_EMPTY;
    } else if (memory_is_full()) {
        reason = SHOE_REASON_MEMORY_FULL;
    }
    if (reason == SHOE_REASON_ACCEPTED) {
        armed = number;
    } else {
        struct shoe_message message;
        begin(&message, SHOE_KIND_REPLY, next_seq);
        message.as.reply.reason = reason;
        message.as.reply.number = number;
        say(&message);
    }
    say_status();
}

/* The answer that is kept for a command: the same one again, and nothing is done twice. */
static struct answer *answer_to(uint32_t command_id)
{
    size_t n;

    for (n = 0; n < COMMANDS; n++) {
        if (answers[n].command_id == command_id) {
            say(&answers[n].message);
            return NULL;
        }
    }
    n = answered++ % COMMANDS;
    answers[n].command_id = command_id;
    begin(&answers[n].message, SHOE_KIND_COMMAND_REPLY, next_seq);
    answers[n].message.as.command_reply.command_id = command_id;
    return &answers[n];
}

static void refuse(uint32_t command_id)
{
    struct answer *answer = answer_to(command_id);

    if (answer != NULL) {
        answer->message.as.command_reply.reason = SHOE_REASON_NOT_SUPPORTED;
        say(&answer->message);
    }
}

static void reset(uint32_t command_id)
{
    struct answer *answer = answer_to(command_id);
    struct shoe_message message;

    if (answer == NULL) {
        return;
    }
    say(&answer->message);
    armed = 0;
    begin(&message, SHOE_KIND_RESET_DONE, 0);
    message.as.reset_done.command_id = command_id;
    keep(&message);
    say_status();
}

static void test_self(uint32_t command_id)
{
    struct answer *answer = answer_to(command_id);
    struct shoe_message message;

    if (answer == NULL) {
        return;
    }
    say(&answer->message);
    begin(&message, SHOE_KIND_SELF_TEST, 0);
    message.as.self_test.command_id = command_id;
    keep(&message);
}

static void query(uint32_t command_id, uint8_t what)
{
    struct answer *answer;

    if (what != SHOE_QUERY_LIFETIME_DRAWS) {
        refuse(command_id);
        return;
    }
    answer = answer_to(command_id);
    if (answer != NULL) {
        begin(&answer->message, SHOE_KIND_QUERY_ANSWERED, next_seq);
        answer->message.as.query_answered.command_id = command_id;
        answer->message.as.query_answered.what = what;
        answer->message.as.query_answered.value = drawn;
        say(&answer->message);
    }
}

/* Section 14. A challenge needs a key: without one nothing is answered. */
static void received(const struct shoe_message *message)
{
    if (message->kind == SHOE_KIND_HELLO_REQUEST) {
        connected = 1;
        on_way = 0;
        resend_ms = RESEND_MS;
        say_hello();
        send_events();
        say_status();
        return;
    }
    if (!connected) {
        return;
    }
    switch (message->kind) {
    case SHOE_KIND_ACKNOWLEDGE: acknowledged(message->as.acknowledge.through); break;
    case SHOE_KIND_REPLAY_FROM: replay_from(message->as.replay_from.first); break;
    case SHOE_KIND_ARM: arm(message->as.arm.number); break;
    case SHOE_KIND_LOCK:
        armed = 0;
        say_status();
        break;
    case SHOE_KIND_RESET: reset(message->as.reset.command_id); break;
    case SHOE_KIND_TEST_SELF: test_self(message->as.test_self.command_id); break;
    case SHOE_KIND_QUERY: query(message->as.query.command_id, message->as.query.what); break;
    case SHOE_KIND_SHOW: refuse(message->as.show.command_id); break;
    case SHOE_KIND_SET_TIME: refuse(message->as.set_time.command_id); break;
    case SHOE_KIND_ROTATE_KEY: refuse(message->as.rotate_key.command_id); break;
    default: break;
    }
}

static void hear(struct shoe_receiver *receiver, uint8_t byte)
{
    struct shoe_message message;
    size_t size = shoe_receive(receiver, byte);

    if (size > 0 && shoe_unwrap(receiver->stuffed, &size) == SHOE_OK
        && shoe_read(receiver->stuffed, size, NULL, &message) == SHOE_OK
        && message.kind >= SHOE_FIRST_OF_HOST) {
        received(&message);
    }
}

static void shuffle(uint32_t seed)
{
    uint32_t chance = seed * 2654435761u | 1u;
    size_t n;

    for (n = 0; n < CARDS; n++) {
        cards[n] = (uint8_t)((n / 13 % 4 + 1) << 4 | (n % 13 + 1));
    }
    for (n = CARDS - 1; n > 0; n--) {
        size_t other;
        uint8_t card = cards[n];
        chance ^= chance << 13;
        chance ^= chance >> 17;
        chance ^= chance << 5;
        other = chance % (n + 1);
        cards[n] = cards[other];
        cards[other] = card;
    }
}

static void power_up(void)
{
    struct shoe_message message;

    boot_id = (uint32_t)time(NULL) ^ (uint32_t)getpid() << 16;
    booted_us = now_us();
    begin(&message, SHOE_KIND_SHOE_LOADED, 0);
    text(message.as.shoe_loaded.set_id, sizeof message.as.shoe_loaded.set_id, "KIT-SET-1");
    message.as.shoe_loaded.decks = DECKS;
    keep(&message);
    connected = 1;
    say_hello();
    connected = 0;
}

static void signalled(int number)
{
    if (number == SIGUSR1) {
        lid_moves++;
    } else {
        pulls++;
    }
}

/* What has happened since: the hand, signals, the clock. */
static void turn(void)
{
    for (; lid_moves > 0; lid_moves--) {
        move_lid();
    }
    for (; pulls > 0; pulls--) {
        draw();
    }
    if (armed != 0) {
        draw();
    }
    if (!connected) {
        return;
    }
    if (on_way > 0 && now_ms() >= resend_at) {
        on_way = 0;
        resend_ms = resend_ms * 2 < RESEND_MS_MOST ? resend_ms * 2 : RESEND_MS_MOST;
        send_events();
    }
    if (now_ms() >= status_at) {
        say_status();
    }
}

/* Until bytes come, a signal, or something is due. Signals come here alone, so that none is missed
 * between the look at it and the wait. */
static int wait_for_bytes(const sigset_t *open)
{
    int64_t due = on_way > 0 && resend_at < status_at ? resend_at : status_at;
    int64_t left = due - now_ms() > 0 ? due - now_ms() : 0;
    struct timespec limit = {(time_t)(left / 1000), (long)(left % 1000) * 1000000};
    fd_set line;

    FD_ZERO(&line);
    FD_SET(STDIN_FILENO, &line);
    return pselect(STDIN_FILENO + 1, &line, NULL, NULL, connected ? &limit : NULL, open) > 0;
}

static void take_signals(sigset_t *open)
{
    struct sigaction action;
    sigset_t ours;

    memset(&action, 0, sizeof action);
    action.sa_handler = signalled;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR1);
    sigaddset(&ours, SIGUSR2);
    sigprocmask(SIG_BLOCK, &ours, open);
}

int main(int count, char **words)
{
    static struct shoe_receiver receiver;
    uint8_t bytes[256];
    sigset_t open;

    take_signals(&open);
    if (count > 1) {
        device_id = words[1];
    }
    shuffle(count > 2 ? (uint32_t)strtoul(words[2], NULL, 10) : 1u);
    drawn = count > 3 ? (uint16_t)(strtoul(words[3], NULL, 10) % CARDS) : 0;
    cutting_card_out = drawn > CARDS - BEHIND_CUT;
    fcntl(STDOUT_FILENO, F_SETFL, fcntl(STDOUT_FILENO, F_GETFL) | O_NONBLOCK);
    power_up();
    for (;;) {
        ssize_t size, n;
        turn();
        if (!wait_for_bytes(&open)) {
            continue;
        }
        size = read(STDIN_FILENO, bytes, sizeof bytes);
        if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) {
            return 0; /* nobody is left at the other end */
        }
        for (n = 0; n < size; n++) {
            hear(&receiver, bytes[n]);
        }
    }
}
