/*
 * The bulk operations of Boost.Bloom, beside `bloomdedup try N 1e-6 --measure`:
 *
 *     boost-bloom N
 *
 * fills a filter for N keys and 1e-6, looks up as many others, and prints N,
 * the filter's name, its bytes, the error rate measured, and keys per second.
 * Keys are numbers hashed before, in batches of 1,024; hashing isn't timed.
 */
#include <boost/bloom.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

struct hashed {
	using is_avalanching = void;
	std::size_t operator()(std::uint64_t key) const { return key; }
};

/* splitmix64 */
static std::uint64_t
mix(std::uint64_t x)
{
	x += UINT64_C(0x9E3779B97F4A7C15);
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

/* Calls work(keys, end) for the keys first to first + n; returns its seconds. */
template <typename Work>
static double
timed(std::uint64_t first, std::uint64_t n, Work work)
{
	using clock = std::chrono::steady_clock;
	std::chrono::duration<double> spent{0};
	std::uint64_t keys[1024];

	while (n > 0) {
		std::uint64_t count = n < 1024 ? n : 1024;

		for (std::uint64_t i = 0; i < count; i++)
			keys[i] = mix(first + i);
		auto start = clock::now();
		work(keys, keys + count);
		spent += clock::now() - start;
		first += count;
		n -= count;
	}
	return spent.count();
}

int
main(int argc, char **argv)
{
	std::uint64_t n = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
	std::uint64_t found = 0;

	if (n == 0) {
		std::fputs("usage: boost-bloom N\n", stderr);
		return 2;
	}
	/* 14 makes a filter about as large as bloomdedup's */
	boost::bloom::filter<std::uint64_t, 1,
	    boost::bloom::fast_multiblock64<14>, 0, hashed> filter(n, 1e-6);
	double added = timed(0, n,
	    [&](std::uint64_t *keys, std::uint64_t *end) {
		filter.insert(keys, end);
	    });
	double looked_up = timed(n, n,
	    [&](std::uint64_t *keys, std::uint64_t *end) {
		filter.may_contain(keys, end,
		    [&](std::uint64_t, bool there) { found += there; });
	    });
	std::printf("%llu Boost.Bloom %zu %g %.0f %.0f\n",
	    (unsigned long long)n, filter.capacity() / 8,
	    (double)found / (double)n, (double)n / added,
	    (double)n / looked_up);
	return 0;
}
