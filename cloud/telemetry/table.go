package telemetry

// A metric is a row of the table. A test compares docs/METRICS.md with the
// table.
type metric struct {
	name   string
	kind   string
	help   string
	labels []string
	polled bool // read from a source at each collection
}

const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// table lists every metric in the order of the document, except those of the Go
// runtime and the process.
var table []metric

func add(name, kind, help string, labels ...string) metric {
	r := metric{name: name, kind: kind, help: help, labels: labels}
	table = append(table, r)
	return r
}

func polled(name, kind, help string, labels ...string) metric {
	r := metric{name: name, kind: kind, help: help, labels: labels, polled: true}
	table = append(table, r)
	return r
}

var (
	requestsTotal  = add("cpar_requests_total", counter, "Finished requests by method, route and class of status. The status is none if the client left before the answer.", "method", "route", "status")
	inFlight       = add("cpar_requests_in_flight", gauge, "Requests being handled now.")
	requestSeconds = add("cpar_request_seconds", histogram, "Time from a request's headers to the end of its answer.", "route")
	stageSeconds   = add("cpar_stage_seconds", histogram, "Time that a request spent in each stage: body, queue, load, search, encode, send. The scheme is none except for annotations.", "scheme", "stage")
	problemsTotal  = add("cpar_problems_total", counter, "Error answers by problem code.", "code")
	panicsTotal    = add("cpar_panics_total", counter, "Requests that ended in a panic, because of a bug or because a disk failed under a memory map. The log has the details.")
	receivedTotal  = add("cpar_received_bytes_total", counter, "Bytes of request bodies received.")
	sentTotal      = add("cpar_sent_bytes_total", counter, "Bytes of answer bodies sent.")

	annotationsTotal = add("cpar_annotations_total", counter, "Encrypted annotation requests. Each request of a batch counts.", "scheme")
	visitedTotal     = add("cpar_records_visited_total", counter, "Records scored.", "scheme")
	touchedTotal     = add("cpar_index_bytes_touched_total", counter, "Bytes of indexes read during scoring. A batch counts its bytes once for each of its requests.", "scheme")

	tenantRequests = add("cpar_tenant_requests_total", counter, "Requests by tenant id. Tenants after the first 100 share the label other.", "tenant")
	tenantBytes    = add("cpar_tenant_bytes_total", counter, "Bytes of request and answer bodies by tenant.", "tenant")
	tenantSeconds  = add("cpar_tenant_seconds_total", counter, "Time spent on requests by tenant.", "tenant")

	queueWaiting = polled("cpar_queue_waiting", gauge, "Requests waiting for a resource: memory for bodies or replies (in bytes), a turn to search, or a turn to read storage for checks and builds.", "what")
	queueSize    = polled("cpar_queue_size", gauge, "Capacity of each resource: bytes of memory, turns, connections that have not shown a token (strangers), or bytes of answers that strangers have not received yet (answers).", "what")
	queueUsed    = polled("cpar_queue_used", gauge, "Part of the capacity in use.", "what")
	queueGranted = polled("cpar_queue_granted_total", counter, "Requests and batches that obtained the resource.", "what")
	queueSeconds = polled("cpar_queue_wait_seconds_total", counter, "Time spent waiting for the resource.", "what")
	shedTotal    = polled("cpar_shed_total", counter, "Requests and batches rejected because the queue was full, the wait was too long, or the tenant exceeded its rate or concurrency (limit). For strangers: connections closed because there were too many or because no token arrived in time.", "what", "reason")
	batchSize    = polled("cpar_pass_requests", histogram, "Requests in each batch that was scored in one pass over an index.")

	indexesLoaded  = polled("cpar_indexes_loaded", gauge, "Indexes in memory.")
	loadedBytes    = polled("cpar_loaded_bytes", gauge, "Bytes of loaded indexes: mapped files, which the operating system may evict, and copies, which it cannot.", "kind")
	loadsTotal     = polled("cpar_index_loads_total", counter, "Indexes loaded.")
	unloadsTotal   = polled("cpar_index_unloads_total", counter, "Indexes unloaded to free memory or because they were idle.")
	indexesDamaged = polled("cpar_indexes_damaged", gauge, "Indexes that cannot answer because they are damaged. cpard check names them.")
	faultsTotal    = polled("cpar_faults_total", counter, "Damage found, by kind.", "kind")
	scrubRounds    = polled("cpar_scrub_rounds_total", counter, "Complete scrubs of the storage.")
	scrubBytes     = polled("cpar_scrub_bytes_total", counter, "Bytes read by scrubs.")
	scrubDone      = polled("cpar_scrub_done", gauge, "Indexes read in the current scrub.")
	scrubOf        = polled("cpar_scrub_of", gauge, "Indexes to read in the current scrub.")
	collectedTotal = polled("cpar_collected_segments_total", counter, "Segments removed because no index needed them.")
	collectedBytes = polled("cpar_collected_bytes_total", counter, "Bytes of the segments removed because no index needed them.")
	storedBytes    = polled("cpar_tenant_stored_bytes", gauge, "Bytes that count towards the quota, for each tenant that has pushed since the start.", "tenant")
	quotaBytes     = polled("cpar_tenant_quota_bytes", gauge, "Quota of the tenant. Absent for tenants without a quota and for the label other.", "tenant")

	deletedBytes  = polled("cpar_tenant_deleted_bytes", gauge, "Bytes of deleted blobs that are still recoverable, which count towards the quota.", "tenant")
	albumsDamaged = polled("cpar_albums_damaged", gauge, "Albums in which the last scrub found a damaged blob. cpard check names them.")
	purgedTotal   = polled("cpar_purged_blobs_total", counter, "Blobs removed because they were deleted longer ago than keep-deleted.")
	purgedBytes   = polled("cpar_purged_bytes_total", counter, "Bytes of the blobs removed because they were deleted longer ago than keep-deleted.")

	tenantsKnown   = polled("cpar_tenants", gauge, "Known tenants.")
	tokensRefused  = polled("cpar_tokens_refused_total", counter, "Requests whose token is missing or unknown.")
	guessesLimited = polled("cpar_guesses_limited_total", counter, "Requests with an unknown token that were rejected because they came too fast.")

	connectionsMax     = polled("cpar_connections_max", gauge, "Maximum number of open connections. Further connections wait.")
	acceptErrors       = polled("cpar_accept_errors_total", counter, "Connections that could not be accepted, for example because file descriptors ran out.")
	certificateRefused = polled("cpar_certificates_refused_total", counter, "Changed certificate files that were rejected.")
	certificateEnd     = polled("cpar_certificate_end_seconds", gauge, "Expiry of the certificate in seconds since 1970. Absent without TLS.")
	connectionsOpen    = polled("cpar_connections", gauge, "Open connections by state: new, active, idle.", "state")
	connectionsTotal   = polled("cpar_connections_total", counter, "Connections accepted.")

	tracesSent      = polled("cpar_traces_sent_total", counter, "Requests whose spans the collector accepted.")
	tracesDropped   = polled("cpar_traces_dropped_total", counter, "Requests whose spans were dropped because the collector was unavailable or slow.")
	storageRequests = polled("cpar_storage_requests_total", counter, "Requests to object storage. Each attempt counts.")
	storageRetries  = polled("cpar_storage_retries_total", counter, "Requests to object storage that repeated a failed attempt.")
	storageErrors   = polled("cpar_storage_errors_total", counter, "Operations on object storage that failed after all attempts.")
	storageBytes    = polled("cpar_storage_bytes_total", counter, "Bytes of objects received from and sent to object storage.", "direction")
	cacheBytes      = polled("cpar_cache_bytes", gauge, "Bytes in the cache of object storage, including running downloads and uploads.")
	cacheLimit      = polled("cpar_cache_limit_bytes", gauge, "Maximum size of the cache.")
	cacheSegments   = polled("cpar_cache_segments_total", counter, "Segments that an index needed and that the cache had (hit) or lacked (miss), and segments evicted from the cache.", "event")

	clusterNodes   = polled("cpar_cluster_nodes", gauge, "Live nodes as seen from this machine. All cpar_cluster metrics are absent outside a cluster.")
	clusterServers = polled("cpar_cluster_servers", gauge, "NATS servers that respond.")
	clusterParts   = polled("cpar_cluster_parts", gauge, "Shards of indexes that this machine holds. 0 on a machine that is not a node.")
	clusterMoves   = polled("cpar_cluster_moves_total", counter, "Shards that this machine began to load.")
	clusterHedges  = polled("cpar_cluster_hedges_total", counter, "Requests sent to a second node because the first was slow.")
	clusterRetries = polled("cpar_cluster_retries_total", counter, "Requests sent to another node because the first refused, was unavailable or did not answer.")
	clusterCold    = polled("cpar_cluster_cold_total", counter, "Requests that a node refused because it had not loaded the shard yet.")

	readyGauge = polled("cpar_ready", gauge, "1 if the check passes, 0 if it fails. /readyz gives the reason.", "check")

	buildInfo = add("cpar_build_info", gauge, "Always 1. The labels give the running version.", "version", "go")
)
