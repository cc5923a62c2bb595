package pause

import (
	"io/fs"
	"path"
	"strings"
)

// discharging reports whether a computer runs on its battery. `supplies` is
// Linux's folder /sys/class/power_supply. Batteries of peripherals, such as a
// mouse, do not count. A computer without a battery is on mains power.
func discharging(supplies fs.FS) bool {
	all, _ := fs.ReadDir(supplies, ".")
	read := func(name, attribute string) string {
		b, _ := fs.ReadFile(supplies, path.Join(name, attribute))
		return strings.TrimSpace(string(b))
	}
	battery := false
	for _, e := range all {
		name := e.Name()
		switch read(name, "type") {
		case "Mains", "USB", "Wireless":
			if read(name, "online") == "1" {
				return false
			}
		case "Battery":
			battery = battery || read(name, "scope") != "Device" && read(name, "status") == "Discharging"
		}
	}
	return battery
}
