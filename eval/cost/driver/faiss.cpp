// faiss over vectors from files, a scan and an inverted file: faiss RECORDS REQUESTS TRUTH LISTS PROBES...
#include <cstdlib>
#include <faiss/IndexFlat.h>
#include <faiss/IndexIVFFlat.h>
#include <omp.h>

#include "driver.h"

int main(int argc, char **argv) try {
	if (argc < 6) throw std::runtime_error("usage: faiss RECORDS REQUESTS TRUTH LISTS PROBES...");
	Table<float> records(argv[1]), requests(argv[2]);
	Table<uint32_t> truth(argv[3]);
	if (records.d != requests.d || truth.n != requests.n) throw std::runtime_error("the files do not fit together");
	omp_set_num_threads(1);
	std::vector<float> away(truth.d);
	std::vector<faiss::Index::idx_t> labels(truth.d);
	auto asking = [&](const faiss::Index &index) {
		return [&](const float *x, std::vector<uint32_t> &found) {
			index.search(1, x, found.size(), away.data(), labels.data());
			for (size_t i = 0; i < found.size(); i++) found[i] = uint32_t(labels[i]);
		};
	};
	double vectors = 4.0 * records.n * records.d;
	faiss::IndexFlatL2 flat(records.d);
	flat.add(records.n, records.values.data());
	report("flat", 0, vectors, requests, truth, asking(flat));

	int lists = std::atoi(argv[4]);
	faiss::IndexFlatL2 centroids(records.d);
	faiss::IndexIVFFlat ivf(&centroids, records.d, lists);
	ivf.train(records.n, records.values.data());
	ivf.add(records.n, records.values.data());
	for (int a = 5; a < argc; a++) {
		ivf.nprobe = std::atoi(argv[a]);
		report("ivf", int(ivf.nprobe), vectors + 8.0 * records.n + 4.0 * lists * records.d, requests, truth, asking(ivf));
	}
} catch (const std::exception &e) {
	std::fprintf(stderr, "faiss: %s\n", e.what());
	return 1;
}
