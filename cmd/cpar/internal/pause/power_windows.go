package pause

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var systemPowerStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetSystemPowerStatus")

func onBattery() bool {
	// SYSTEM_POWER_STATUS begins with ACLineStatus: 0 offline, 1 online.
	var status [12]byte
	ok, _, _ := systemPowerStatus.Call(uintptr(unsafe.Pointer(&status[0])))
	return ok != 0 && status[0] == 0
}
