// Which edges of the core's code a case has passed. Loaded before a core that is built with PYBTF_COVERAGE, where each
// basic block calls the first function here. `tools/fuzz/edges.py` calls the others.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define SIZE (1u << 18) // edges.py has it, too

static uint8_t passed[SIZE]; // how often, by a hash of the block and of those before it
static uintptr_t base;
static uint32_t last, last_but_one;
static int on, of_three;

void __sanitizer_cov_trace_pc(void) {
    if (!on)
        return;
    uint64_t at = (uintptr_t)__builtin_return_address(0) - base;
    uint32_t here = (uint32_t)((at * 0x9E3779B97F4A7C15ull) >> 40);
    uint32_t edge = here ^ (last << 1) ^ (of_three ? last_but_one << 3 : 0);
    uint8_t *count = &passed[edge & (SIZE - 1)];
    if (*count != 255)
        ++*count;
    last_but_one = last;
    last = here;
}

// `symbol`: any of the library that is watched. Its places are taken from its beginning, so that they are the same in
// each process. `three`: three blocks in a row are an edge, not two. Nonzero if there is no such library.
int edges_watch(const void *symbol, int three) {
    Dl_info found;
    if (!dladdr(symbol, &found))
        return 1;
    base = (uintptr_t)found.dli_fbase;
    of_three = three;
    return 0;
}

void edges_begin(void) {
    memset(passed, 0, SIZE);
    last = last_but_one = 0;
    on = 1;
}

// A bit for each order of magnitude, as a loop's first, second and hundredth round are different things.
static uint8_t bit_of(uint8_t count) {
    if (count < 4)
        return count == 3 ? 4 : count;
    return count < 6 ? 8 : count < 10 ? 16 : count < 20 ? 32 : count < 60 ? 64 : 128;
}

// Returns how many bits of `seen` are new, which has SIZE bytes, and sets them.
int edges_end(uint8_t *seen) {
    int fresh = 0;
    on = 0;
    for (uint32_t at = 0; at < SIZE; at += 8) {
        uint64_t eight;
        memcpy(&eight, passed + at, 8);
        if (!eight)
            continue;
        for (uint32_t each = at; each < at + 8; each++) {
            uint8_t bit = passed[each] ? bit_of(passed[each]) : 0;
            fresh += (bit & ~seen[each]) != 0;
            seen[each] |= bit;
        }
    }
    return fresh;
}
