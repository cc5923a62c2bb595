//go:build race

package album

// raceDetector is set because the detector empties pools at random.
const raceDetector = true
