//go:build race

package main

// raceDetector is set because the detector's memory is measured too.
const raceDetector = true
