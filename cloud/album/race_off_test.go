//go:build !race

package album

const raceDetector = false
