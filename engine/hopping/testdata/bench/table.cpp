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
#include <utility>
#include <vector>
#include <sys/resource.h>

static std::vector<int32_t> bufferA, bufferB;
static long long updates;

// dst = upper after sigma_j after lower.
static void compose(int32_t *__restrict dst, const int32_t *__restrict upper, const int32_t *__restrict lower, int j, int n) {
    for (int u = 0; u <= n; u++) {
        const int x = lower[u] + j;
        dst[u] = upper[x > n ? 0 : x];
    }
}

// M(n); the rows C_{m,s-m+1}, 0 <= m <= s, of group s start at cur + m*(n+1).
static int hop(int n) {
    const int w = n + 1;
    size_t rows = 0;
    int32_t *prev = nullptr, *cur = nullptr;
    auto reserve = [&](size_t r) {
        if (bufferA.size() < r * w) {
            bufferA.resize(r * w);
            bufferB.resize(r * w);
        }
        rows = bufferA.size() / w;
    };
    reserve(8);
    for (int s = 0;; s++) {
        bool swapped = cur != nullptr && cur == bufferB.data();
        reserve(size_t(s) + 1);
        cur = swapped ? bufferB.data() : bufferA.data();
        prev = swapped ? bufferA.data() : bufferB.data();
        std::swap(cur, prev);
        for (int u = 0; u < w; u++) cur[u] = u;
        for (int m = 1; m <= s; m++) {
            const int j = s - m + 1;
            // lower is C_{m-1,j+1} of group s, upper is C_{m-1,j} of group s-1.
            compose(cur + size_t(m) * w, prev + size_t(m - 1) * w, cur + size_t(m - 1) * w, j, n);
            updates += w;
        }
        const int32_t *last = cur + size_t(s) * w;
        bool constant = s > 0;
        for (int u = 1; u < w && constant; u++) constant = last[u] == last[0];
        if (constant) return last[0];
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
