// flann runs FLANN's randomized kd-forest over vectors from files, so that the
// forest of package kdforest can be compared with it. See README.md beside it.
//
//   flann RECORDS REQUESTS TRUTH TREES BUILDS CHECKS...
//
// CHECKS are numbers of records to visit, -1 for no bound (FLANN then walks one
// tree to its end), or the word "scan" for FLANN's linear search. Every forest
// is built BUILDS times: FLANN shuffles with std::random_device, which cannot be
// seeded, so two forests are never the same.
//
// It prints one line of JSON for every build and number of checks.
#include <cstdlib>
#include <cstring>

#include <flann/flann.hpp>

#include "driver.h"

// Counting is FLANN's squared L2 with a counter of calls: FLANN does not report how
// many records it visited, and stops before its bound when no bin can hold a
// neighbour. One increment is negligible beside 64 products.
struct Counting : flann::L2<float> {
	static uint64_t calls;
	template <typename A, typename B>
	float operator()(A a, B b, size_t size, float worst = -1) const {
		++calls;
		return flann::L2<float>::operator()(a, b, size, worst);
	}
};
uint64_t Counting::calls = 0;

struct Result {
	double recall, seconds, visited; // means over the requests
};

// search runs one request at a time, on one core, and compares the result with
// the truth.
template <typename Index>
Result search(Index &index, Table<float> &requests, Table<uint32_t> &truth, int checks) {
	size_t k = truth.d;
	std::vector<size_t> found(k);
	std::vector<float> away(k);
	flann::Matrix<size_t> indices(found.data(), 1, k);
	flann::Matrix<float> distances(away.data(), 1, k);
	flann::SearchParams params(checks);
	params.cores = 1;

	size_t hits = 0;
	std::chrono::steady_clock::duration spent{};
	auto ask = [&](size_t i) {
		flann::Matrix<float> request(requests.row(i), 1, requests.d);
		found.assign(k, size_t(-1)); // so that a short answer keeps nothing of the previous one
		auto begin = std::chrono::steady_clock::now();
		index.knnSearch(request, indices, distances, k, params);
		spent += std::chrono::steady_clock::now() - begin;
	};
	for (size_t i = 0; i < requests.n && i < 50; i++) ask(i); // warm up
	spent = {};
	Counting::calls = 0;
	for (size_t i = 0; i < requests.n; i++) {
		ask(i);
		for (size_t f : found)
			for (size_t t = 0; t < k; t++) hits += f == truth.row(i)[t];
	}
	double n = requests.n;
	return {double(hits) / (n * k), std::chrono::duration<double>(spent).count() / n, double(Counting::calls) / n};
}

void print(const char *name, int build, int checks, double bytes, const Result &r) {
	std::printf("{\"search\":\"%s\",\"build\":%d,\"checks\":%d,\"bytes\":%.0f,\"recall\":%.6f,\"seconds\":%.9f,\"visited\":%.3f}\n",
	            name, build, checks, bytes, r.recall, r.seconds, r.visited);
	std::fflush(stdout);
}

int run(int argc, char **argv) {
	if (argc < 7) {
		std::fprintf(stderr, "usage: flann RECORDS REQUESTS TRUTH TREES BUILDS CHECKS...\n");
		return 2;
	}
	Table<float> records(argv[1]), requests(argv[2]);
	Table<uint32_t> truth(argv[3]);
	int trees = std::atoi(argv[4]), builds = std::atoi(argv[5]);
	if (trees < 1 || builds < 1 || records.d != requests.d || truth.n != requests.n || truth.d > records.n)
		throw std::runtime_error("the files do not fit together");

	double vectors = 4.0 * records.n * records.d;
	for (int build = 0; build < builds; build++) {
		flann::seed_random(unsigned(build)); // the split dimensions, at least
		flann::KDTreeIndex<Counting> index(flann::Matrix<float>(records.values.data(), records.n, records.d), flann::KDTreeIndexParams(trees));
		index.buildIndex();
		for (int i = 6; i < argc; i++) {
			if (std::strcmp(argv[i], "scan") == 0) continue;
			int checks = std::atoi(argv[i]);
			if (checks != flann::FLANN_CHECKS_UNLIMITED && checks < 1) throw std::runtime_error("checks of less than one");
			print("kdtree", build, checks, vectors + index.usedMemory(), search(index, requests, truth, checks));
		}
	}
	for (int i = 6; i < argc; i++) {
		if (std::strcmp(argv[i], "scan") != 0) continue;
		flann::LinearIndex<Counting> index(flann::Matrix<float>(records.values.data(), records.n, records.d), flann::LinearIndexParams());
		index.buildIndex();
		print("scan", 0, 0, vectors, search(index, requests, truth, flann::FLANN_CHECKS_UNLIMITED));
	}
	return 0;
}

int main(int argc, char **argv) {
	try {
		return run(argc, argv);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "flann: %s\n", e.what());
		return 1;
	}
}
