// The program people write first for one large W(n): M(x) below 2·10^6 from a
// linear sieve, above it by the memoised recursion over blocks of equal
// quotient, and W(n) = (sum of mu(d)·h(floor(n/d)) - 1)/2 in 128 bits.
//
//   g++ -O2 -o memo memo.cpp && ./memo 1000000000
//
// prints n, W(n) and the user seconds of one evaluation from nothing, which is
// repeated until one second has been spent.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <unordered_map>
#include <vector>

typedef long long ll;
typedef __int128 wide;

static const ll CUT = 2000000;
static std::vector<int> prefix;
static std::unordered_map<ll, ll> memo;

static void presieve() {
    std::vector<signed char> mu(CUT + 1, 1);
    std::vector<char> composite(CUT + 1, 0);
    std::vector<int> primes;
    for (ll i = 2; i <= CUT; i++) {
        if (!composite[i]) {
            primes.push_back((int)i);
            mu[i] = -1;
        }
        for (size_t k = 0; k < primes.size() && primes[k] * i <= CUT; k++) {
            composite[primes[k] * i] = 1;
            if (i % primes[k] == 0) {
                mu[primes[k] * i] = 0;
                break;
            }
            mu[primes[k] * i] = -mu[i];
        }
    }
    prefix.assign(CUT + 1, 0);
    for (ll i = 1; i <= CUT; i++) prefix[i] = prefix[i - 1] + mu[i];
}

static ll mertens(ll x) {
    if (x <= CUT) return prefix[x];
    auto it = memo.find(x);
    if (it != memo.end()) return it->second;
    ll s = 1;
    for (ll d = 2; d <= x;) {
        ll q = x / d, last = x / q;
        s -= (last - d + 1) * mertens(q);
        d = last + 1;
    }
    memo[x] = s;
    return s;
}

static wide lost(ll q) {
    ll k = (q + 1) / 2, p = k / 2;
    return k % 2 ? (wide)p * p : (wide)p * (p - 1);
}

static wide h(ll q) {
    wide s = (wide)q * q;
    for (; q > 0; q /= 2) s -= 4 * lost(q);
    return s;
}

static wide W(ll n) {
    wide s = 0;
    ll before = 0;
    for (ll d = 1; d <= n;) {
        ll q = n / d, last = n / q, now = mertens(last);
        s += (now - before) * h(q);
        before = now;
        d = last + 1;
    }
    return (s - 1) / 2;
}

static std::string text(wide v) {
    std::string s;
    do s.insert(s.begin(), char('0' + (int)(v % 10)));
    while (v /= 10);
    return s;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        ll n = atoll(argv[i]);
        wide w = 0;
        int runs = 0;
        clock_t start = clock();
        do {
            memo.clear();
            presieve();
            w = W(n);
            runs++;
        } while (clock() - start < CLOCKS_PER_SEC);
        printf("memo %lld %s %.6f\n", n, text(w).c_str(), double(clock() - start) / CLOCKS_PER_SEC / runs);
    }
}
