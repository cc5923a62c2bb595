//go:build !linux && !darwin && !windows

package pause

// onBattery cannot be determined on this system, so CPAR assumes mains power.
func onBattery() bool { return false }
