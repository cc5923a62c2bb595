package telemetry

// A metric is a row of the table. A test compares docs/METRICS.md with the
// table.
type metric struct {
	name   string
	kind   string
	help   string
	labels []string
	polled bool // read from a source, not counted here
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
	requestsTotal  = add("cpar_requests_total", counter, "Requests that ended, by method, route and class of status (none: the client was gone before the answer).", "method", "route", "status")
	inFlight       = add("cpar_requests_in_flight", gauge, "Requests that are being worked on.")
	requestSeconds = add("cpar_request_seconds", histogram, "Time from the head of a request to the end of its answer.", "route")
	stageSeconds   = add("cpar_stage_seconds", histogram, "Time of a request in one stage: body, queue, load, search, encode, send. Scheme is none for all but annotations.", "scheme", "stage")
	problemsTotal  = add("cpar_problems_total", counter, "Answers that are problems, by their code.", "code")
	panicsTotal    = add("cpar_panics_total", counter, "Requests ended by a panic: a bug, or a disk that failed under a memory map. The log has more.")
	receivedTotal  = add("cpar_received_bytes_total", counter, "Bytes of bodies received.")
	sentTotal      = add("cpar_sent_bytes_total", counter, "Bytes of bodies sent.")

	annotationsTotal = add("cpar_annotations_total", counter, "Encrypted requests that were asked, those of batches one by one.", "scheme")
	visitedTotal     = add("cpar_records_visited_total", counter, "Records that were scored.", "scheme")
	touchedTotal     = add("cpar_index_bytes_touched_total", counter, "Bytes of indexes read to score them. A pass that several requests share counts for each.", "scheme")

	tenantRequests = add("cpar_tenant_requests_total", counter, "Requests of a tenant, by its opaque id; after the first 100 tenants: other.", "tenant")
	tenantBytes    = add("cpar_tenant_bytes_total", counter, "Bytes of bodies received from and sent to a tenant.", "tenant")
	tenantSeconds  = add("cpar_tenant_seconds_total", counter, "Time of a tenant's requests.", "tenant")

	queueWaiting = polled("cpar_queue_waiting", gauge, "Requests that wait: for memory of bodies or replies (in bytes), for a turn to search, or to read what is stored (checks, builds).", "what")
	queueSize    = polled("cpar_queue_size", gauge, "How much there is of what is waited for: bytes of the memory budget, turns, connections without a token (strangers), or bytes of answers that these have not taken (answers).", "what")
	queueUsed    = polled("cpar_queue_used", gauge, "How much of it is in use.", "what")
	queueGranted = polled("cpar_queue_granted_total", counter, "Requests and passes that got what they waited for.", "what")
	queueSeconds = polled("cpar_queue_wait_seconds_total", counter, "Time that they waited.", "what")
	shedTotal    = polled("cpar_shed_total", counter, "Requests and passes that were sent away: the queue was full, the wait was too long, or the tenant is beyond its rate or concurrency (limit). Of strangers, the connections that were closed: there were too many, or no token came in time.", "what", "reason")
	batchSize    = polled("cpar_pass_requests", histogram, "Requests that shared a pass over an index.")

	indexesLoaded  = polled("cpar_indexes_loaded", gauge, "Indexes in memory.")
	loadedBytes    = polled("cpar_loaded_bytes", gauge, "Their bytes: mapped files, which the system may drop, and copies, which it may not.", "kind")
	loadsTotal     = polled("cpar_index_loads_total", counter, "Indexes that were loaded.")
	unloadsTotal   = polled("cpar_index_unloads_total", counter, "Indexes that were let go, for want of room or requests.")
	indexesDamaged = polled("cpar_indexes_damaged", gauge, "Indexes that cannot answer because they are damaged. cpard check names them.")
	faultsTotal    = polled("cpar_faults_total", counter, "Damage that was found, by kind.", "kind")
	scrubRounds    = polled("cpar_scrub_rounds_total", counter, "Times that all that is stored was read to find damage.")
	scrubBytes     = polled("cpar_scrub_bytes_total", counter, "Bytes read for that.")
	scrubDone      = polled("cpar_scrub_done", gauge, "Indexes read in this round.")
	scrubOf        = polled("cpar_scrub_of", gauge, "Indexes that this round has.")
	collectedTotal = polled("cpar_collected_segments_total", counter, "Segments that no index needed, and that were removed.")
	collectedBytes = polled("cpar_collected_bytes_total", counter, "Their bytes.")
	storedBytes    = polled("cpar_tenant_stored_bytes", gauge, "Bytes that count against the quota of a tenant that has pushed since the start.", "tenant")
	quotaBytes     = polled("cpar_tenant_quota_bytes", gauge, "Its quota; absent if it has none, and for other.", "tenant")

	tenantsKnown   = polled("cpar_tenants", gauge, "Tenants.")
	tokensRefused  = polled("cpar_tokens_refused_total", counter, "Requests without a token that is known.")
	guessesLimited = polled("cpar_guesses_limited_total", counter, "Those of them that came too fast.")

	connectionsMax     = polled("cpar_connections_max", gauge, "Connections that may be open; further ones wait.")
	acceptErrors       = polled("cpar_accept_errors_total", counter, "Connections that could not be accepted, for want of descriptors, say.")
	certificateRefused = polled("cpar_certificates_refused_total", counter, "Files of certificates that changed and were not taken.")
	certificateEnd     = polled("cpar_certificate_end_seconds", gauge, "When the certificate ends, in seconds since 1970. Absent without TLS.")
	connectionsOpen    = polled("cpar_connections", gauge, "Open connections, by state: new, active, idle.", "state")
	connectionsTotal   = polled("cpar_connections_total", counter, "Connections accepted.")

	tracesSent      = polled("cpar_traces_sent_total", counter, "Requests whose spans the collector has taken.")
	tracesDropped   = polled("cpar_traces_dropped_total", counter, "Requests whose spans were dropped: the collector was away or slow.")
	storageRequests = polled("cpar_storage_requests_total", counter, "Requests to object storage, each attempt counted.")
	storageRetries  = polled("cpar_storage_retries_total", counter, "Attempts of them after one that failed.")
	storageErrors   = polled("cpar_storage_errors_total", counter, "Operations on object storage that failed, after all attempts.")
	storageBytes    = polled("cpar_storage_bytes_total", counter, "Bytes of objects received from object storage and sent to it.", "direction")
	cacheBytes      = polled("cpar_cache_bytes", gauge, "Bytes in the cache of object storage, with what is being fetched or uploaded.")
	cacheLimit      = polled("cpar_cache_limit_bytes", gauge, "The most that the cache may have.")
	cacheSegments   = polled("cpar_cache_segments_total", counter, "Segments that an index needed and the cache had (hit) or not (miss), and those that were evicted.", "event")

	clusterNodes   = polled("cpar_cluster_nodes", gauge, "Nodes that live, as this machine has heard. Absent outside of a cluster, as all of these.")
	clusterServers = polled("cpar_cluster_servers", gauge, "NATS servers that answer.")
	clusterParts   = polled("cpar_cluster_parts", gauge, "Parts of indexes that this machine holds; 0 if it is no node.")
	clusterMoves   = polled("cpar_cluster_moves_total", counter, "Parts that this machine began to load.")
	clusterHedges  = polled("cpar_cluster_hedges_total", counter, "Questions to a second node because the first took long.")
	clusterRetries = polled("cpar_cluster_retries_total", counter, "Questions to another node because one had refused, was not there or said nothing.")
	clusterCold    = polled("cpar_cluster_cold_total", counter, "Questions that a node refused because it had not loaded the part yet.")

	readyGauge = polled("cpar_ready", gauge, "1 if the check finds nothing, else 0. /readyz says what.", "check")

	buildInfo = add("cpar_build_info", gauge, "Always 1; the labels say which version runs.", "version", "go")
)
