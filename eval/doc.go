// Package eval holds the evaluation: measurements of quality, cost and
// security, and the report of their results.
//
//	measure ─▶ quality, cost, attack ─▶ report ─▶ cmd/cpar-eval
//	measure ─▶ load, memory, simulate ─▶ cmd/cpar-eval
//	plot, checkpoint, distance ─▶ measure     estimate ─▶ attack
//
// In: an annotated collection of photos, and optionally an image network.
// Out: tables (CSV), plots (SVG), docs/results.md and docs/scale.md.
//
// Most measurements run the owner and the server in one process, so this is the
// only room (a group of packages, docs/ARCHITECTURE.md) that links both user
// and cloud. No other room may import it, except that tests may import
// distance.
package eval
