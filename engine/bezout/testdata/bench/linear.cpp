// The program people write first for many W(n): phi and g of every n up to N by
// one linear sieve, then the running sum of the steps, every value kept.
//
//   g++ -O2 -o linear linear.cpp && ./linear 100000000
//
// prints N, W(N), the user seconds of one pass from nothing and the millions of
// values a second; passes are repeated until one second of user time is spent.
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <vector>

typedef long long ll;

static double user() {
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_utime.tv_usec * 1e-6;
}

static ll pass(ll N) {
    std::vector<int> phi(N + 1), primes;
    std::vector<short> g(N + 1);
    std::vector<ll> W(N + 1);
    phi[1] = 1;
    g[1] = 1;
    for (ll i = 2; i <= N; i++) {
        if (!phi[i]) {
            primes.push_back((int)i);
            phi[i] = (int)i - 1;
            g[i] = i % 4 == 3 ? -2 : 0;
        }
        for (size_t k = 0; k < primes.size(); k++) {
            ll p = primes[k], m = p * i;
            if (m > N) break;
            if (i % p == 0) {
                phi[m] = phi[i] * (int)p;
                g[m] = -g[i];
                break;
            }
            phi[m] = phi[i] * (int)(p - 1);
            g[m] = p % 4 == 3 ? -2 * g[i] : 0;
        }
    }
    W[1] = 0;
    for (ll i = 2; i <= N; i++) W[i] = W[i - 1] + (i % 2 ? (phi[i] - g[i]) / 2 : phi[i]);
    return W[N];
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        ll N = atoll(argv[i]), w = 0;
        int runs = 0;
        double start = user();
        do {
            w = pass(N);
            runs++;
        } while (user() - start < 1);
        double t = (user() - start) / runs;
        printf("linear %lld %lld %.6f %.1f\n", N, w, t, N / t / 1e6);
    }
}
