// hnswlib over vectors from files: hnsw RECORDS REQUESTS TRUTH EF...
#include <cstdlib>
#include <hnswlib/hnswlib.h>

#include "driver.h"

int main(int argc, char **argv) try {
	if (argc < 5) throw std::runtime_error("usage: hnsw RECORDS REQUESTS TRUTH EF...");
	Table<float> records(argv[1]), requests(argv[2]);
	Table<uint32_t> truth(argv[3]);
	if (records.d != requests.d || truth.n != requests.n) throw std::runtime_error("the files do not fit together");
	hnswlib::L2Space space(records.d);
	hnswlib::HierarchicalNSW<float> index(&space, records.n, 16, 200, 1); // M and ef of building as its examples have them
	for (size_t i = 0; i < records.n; i++) index.addPoint(records.row(i), i);
	double bytes = double(index.size_data_per_element_) * records.n;
	for (size_t i = 0; i < records.n; i++) bytes += double(index.size_links_per_element_) * index.element_levels_[i];
	for (int a = 4; a < argc; a++) {
		int ef = std::atoi(argv[a]);
		index.setEf(ef);
		report("hnsw", ef, bytes, requests, truth, [&](const float *x, std::vector<uint32_t> &found) {
			auto near = index.searchKnn(x, found.size());
			for (size_t i = near.size(); i > 0; i--, near.pop()) found[i - 1] = near.top().second;
		});
	}
} catch (const std::exception &e) {
	std::fprintf(stderr, "hnsw: %s\n", e.what());
	return 1;
}
