//go:build !linux && !darwin && !windows

package pause

// onBattery is not known on this system, which counts as mains power.
func onBattery() bool { return false }
