// Package cloud is the untrusted server. It stores encrypted indexes and
// answers encrypted requests.
//
//	encrypted index (manifest, segments) ─▶ store ─▶ loaded index
//	encrypted Request + loaded index     ─▶ score, search, sealed ─▶ Reply
//
// Nothing in cloud/ holds a key or sees a photo. No package below it may link
// user/, photo/, encoder/ or model/, start a program, or load code. TestWall in
// internal/testing/policy enforces this.
//
// Serving one request, from the network inward:
//
//	daemon     runs the server of a data folder: flags in, running server out
//	listen     listeners, TLS, ACME, and limits on connections
//	api        HTTP routes, OpenAPI document, problems
//	tenant     registry of tenants, tokens, and limits on wrong tokens
//	admission  fair queues for memory and computing time
//	batch      joins waiting requests to one index into a batch
//	cloud      (this package) answers a batch, by scheme
//	search     forest (cpar), inverted file (ivf) and scan (capia)
//	score      scores ⟨C(V), t⟩ of records and planes
//	sealed     inner products that stay encrypted (sealed)
//
// Storing indexes:
//
//	store      indexes in a data folder, activated atomically
//	remote     the same in object storage, with a local cache
//	blob       clients of S3, Azure and Google object storage
//	backup     copies of a data folder
//
// Spreading one index over several nodes:
//
//	shard      ranges of segments that a node can answer alone
//	placement  assigns shards to nodes
//	scatter    chooses the node that answers for each shard, and retries
//	cluster    routers and nodes, connected by NATS
//
// Observing:
//
//	trace      timings and counts of one request
//	telemetry  metrics, readiness, profiles and exported traces
//	inspect    records everything the server can learn from one request
package cloud
