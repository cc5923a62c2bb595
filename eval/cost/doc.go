// Package cost measures time, bytes and memory: of searches, builds and
// requests, by size of index, beside other libraries (folder driver) and
// beside the paper. It also plans clusters from these costs (PlanCapacity).
//
//	measure.Lab ─▶ Measure…, …Step ─▶ a Result: Tables, Figures
//
// It imports measure, and neither quality, attack nor report.
package cost
