// Package quality measures the quality of searches: of annotation by two
// protocols, recall of the nearest records, calibration, and the agreement of
// encrypted and plaintext search.
//
//	measure.Session, measure.Corpus ─▶ Measure… ─▶ a Result: Tables, Figures
//
// It imports measure and none of cost, attack and report.
package quality
