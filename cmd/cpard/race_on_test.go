//go:build race

package main

// raceDetector: memory that is measured is the detector's too.
const raceDetector = true
