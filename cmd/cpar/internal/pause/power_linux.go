package pause

import "os"

func onBattery() bool { return discharging(os.DirFS("/sys/class/power_supply")) }
