// Package cloud is the untrusted server. It stores encrypted indexes and
// answers encrypted requests.
//
//	encrypted index (manifest, segments) ─▶ store ─▶ loaded index
//	encrypted Request + loaded index     ─▶ score, search, sealed ─▶ Reply
//
// No package in cloud/ has a key or a photo. None of them may link user/,
// photo/, encoder/ or model/, start a program, or load code. TestWall in
// internal/testing/policy enforces this rule.
//
// These packages serve a request, in order from the network inward:
//
//	daemon     runs a server until it is stopped
//	listen     listeners, TLS, ACME, and limits on connections
//	api        HTTP routes, OpenAPI document, problems
//	tenant     registry of tenants, tokens, and limits on wrong tokens
//	admission  fair queues for memory and computing time
//	batch      joins waiting requests to one index into a batch
//	cloud      (this package) answers a batch, by scheme
//	search     searches forests (scheme "cpar") and inverted files ("ivf"), and scans ("capia")
//	score      computes the scores of records and planes that search compares
//	sealed     computes encrypted scores (scheme "sealed")
//
// These packages store indexes and albums:
//
//	store      keeps indexes in a data folder and activates them atomically
//	album      keeps encrypted blobs of albums, with a log of all changes
//	remote     keeps indexes in object storage, with a local cache
//	blob       clients of S3, Azure and Google object storage
//	backup     copies a data folder
//
// These packages spread one index over several nodes:
//
//	shard      ranges of segments that a node can answer alone
//	placement  assigns shards to nodes
//	scatter    chooses the node that answers for each shard, and retries
//	cluster    routers and nodes, connected by NATS
//
// These packages observe the server:
//
//	trace      timings and counts of one request
//	telemetry  metrics, readiness, profiles and exported traces
//	inspect    reports everything the server can learn from one request
package cloud
