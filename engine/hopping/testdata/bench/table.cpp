// The table recursion for M(n), the baseline of the benchmarks.
//
//   g++ -O2 -o table table.cpp
//   ./table sum N     all of M(1), …, M(N); value is the sum of M(n)³
//   ./table one N     M(N)
//
// The work is repeated until it fills a second of user time, or MIN seconds
// when a third argument gives them; the line printed has the time of one
// repetition.
//
// Two groups of rows live in two flat buffers, allocated once for the largest n.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <sys/resource.h>

static std::vector<int32_t> buffer[2];
static long long updates;

// dst = upper after sigma_j after lower.
// Not inlined, which g++ 12 would do with a slower loop.
__attribute__((noinline)) static void compose(int32_t *__restrict dst, const int32_t *__restrict upper, const int32_t *__restrict lower, int j, int n) {
    for (int u = 0; u <= n; u++) {
        const int x = lower[u] + j;
        dst[u] = upper[x > n ? 0 : x];
    }
}

// M(n). The rows C_{m,s-m+1}, 0 <= m <= s, of group s lie behind one another in
// one buffer, those of group s-1 in the other.
static int hop(int n) {
    const size_t w = size_t(n) + 1;
    for (int s = 0;; s++) {
        std::vector<int32_t> &mine = buffer[s & 1], &other = buffer[1 - (s & 1)];
        if (mine.size() < (s + 1) * w) mine.resize((s + 1) * w);
        int32_t *cur = mine.data();
        const int32_t *prev = other.data();
        for (int u = 0; u <= n; u++) cur[u] = u;
        for (int m = 1; m <= s; m++) {
            // C_{m-1,j} of group s-1 after sigma_j after C_{m-1,j+1} of this group
            compose(cur + m * w, prev + (m - 1) * w, cur + (m - 1) * w, s - m + 1, n);
        }
        updates += (long long)s * (long long)w;
        if (s == 0) continue;
        const int32_t *last = cur + s * w;
        int u = 1;
        while (u <= n && last[u] == last[0]) u++;
        if (u > n) return last[0];
    }
}

static double userSeconds() {
    rusage r;
    getrusage(RUSAGE_SELF, &r);
    return double(r.ru_utime.tv_sec) + 1e-6 * double(r.ru_utime.tv_usec);
}

int main(int argc, char **argv) {
    if (argc < 3 || (strcmp(argv[1], "sum") && strcmp(argv[1], "one"))) {
        fprintf(stderr, "usage: table sum|one N [MIN]\n");
        return 2;
    }
    const bool sum = !strcmp(argv[1], "sum");
    const int n = atoi(argv[2]);
    const double least = argc > 3 ? atof(argv[3]) : 1.0;
    unsigned __int128 value = 0;
    int reps = 0;
    const double start = userSeconds();
    double took = 0;
    do {
        value = 0;
        updates = 0;
        for (int k = sum ? 1 : n; k <= n; k++) {
            unsigned __int128 m = (unsigned __int128)hop(k);
            value += sum ? m * m * m : m;
        }
        reps++;
        took = userSeconds() - start;
    } while (took < least);
    // Every value printed here is below 2^64 for the N of the benchmarks.
    printf("table %s %d value %llu updates %lld repetitions %d seconds %.6f ns/update %.3f\n", argv[1], n,
           (unsigned long long)value, updates, reps, took / reps, took / reps * 1e9 / double(updates));
    return 0;
}
