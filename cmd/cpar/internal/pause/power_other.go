//go:build !linux && !darwin && !windows

package pause

// onBattery returns false, because the power supply cannot be determined on
// this system.
func onBattery() bool { return false }
