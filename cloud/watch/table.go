package watch

// A row is a metric. docs/METRICS.md is held to the table by a test.
type row struct {
	name   string
	kind   string
	help   string
	labels []string
	pulled bool // asked of a part of the cloud, not counted here
}

const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// table has every metric but those of the Go runtime and the process, in the order of the
// document.
var table []row

func add(name, kind, help string, labels ...string) row {
	r := row{name: name, kind: kind, help: help, labels: labels}
	table = append(table, r)
	return r
}

func pull(name, kind, help string, labels ...string) row {
	r := row{name: name, kind: kind, help: help, labels: labels, pulled: true}
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

	connectionsOpen  = pull("cpar_connections", gauge, "Open connections, by state: new, active, idle.", "state")
	connectionsTotal = pull("cpar_connections_total", counter, "Connections accepted.")

	readyGauge = pull("cpar_ready", gauge, "1 if the check finds nothing, else 0. /readyz says what.", "check")

	buildInfo = add("cpar_build_info", gauge, "Always 1; the labels say which version runs.", "version", "go")
)
