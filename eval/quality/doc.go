// Package quality measures the quality of searches: annotations by two
// protocols (measure/protocol.go), recall of the nearest records, calibration,
// and the agreement of encrypted and plaintext search.
//
//	measure.Session, measure.Corpus ─▶ Measure… ─▶ a Result: Tables, Figures
//
// It imports package measure, but not cost, attack or report.
package quality
