// What the drivers have in common: tables from files, and one request at a time.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

// Table is a file of two little-endian uint32, n and d, and n·d values of 4 bytes.
template <typename T>
struct Table {
	uint32_t n = 0, d = 0;
	std::vector<T> values;

	explicit Table(const char *name) {
		static_assert(sizeof(T) == 4, "values have 4 bytes");
		std::ifstream in(name, std::ios::binary);
		in.read(reinterpret_cast<char *>(&n), 4).read(reinterpret_cast<char *>(&d), 4);
		if (!in || n == 0 || d == 0) throw std::runtime_error(std::string("cannot read ") + name);
		values.resize(size_t(n) * d);
		in.read(reinterpret_cast<char *>(values.data()), std::streamsize(values.size() * 4));
		if (!in || in.peek() != EOF) throw std::runtime_error(std::string(name) + " does not have the size it claims");
	}
	T *row(size_t i) { return values.data() + i * d; }
	const T *row(size_t i) const { return values.data() + i * d; }
};

// report asks about every request, twice, and prints the second pass: ask writes the numbers
// of the nearest records.
template <typename Ask>
void report(const char *search, int checks, double bytes, const Table<float> &requests, const Table<uint32_t> &truth, Ask ask) {
	std::vector<uint32_t> found(truth.d);
	std::chrono::steady_clock::duration spent{};
	size_t hits = 0;
	for (int pass = 0; pass < 2; pass++) {
		spent = {};
		hits = 0;
		for (size_t i = 0; i < requests.n; i++) {
			found.assign(truth.d, UINT32_MAX); // so that a short answer keeps nothing of the previous one
			auto begin = std::chrono::steady_clock::now();
			ask(requests.row(i), found);
			spent += std::chrono::steady_clock::now() - begin;
			for (uint32_t f : found)
				for (size_t t = 0; t < truth.d; t++) hits += f == truth.row(i)[t];
		}
	}
	double n = requests.n;
	std::printf("{\"search\":\"%s\",\"checks\":%d,\"bytes\":%.0f,\"recall\":%.6f,\"seconds\":%.9f}\n",
	            search, checks, bytes, double(hits) / (n * truth.d), std::chrono::duration<double>(spent).count() / n);
	std::fflush(stdout);
}
