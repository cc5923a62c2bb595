package pause

import (
	"bytes"
	"os/exec"
)

func onBattery() bool {
	out, err := exec.Command("/usr/bin/pmset", "-g", "batt").Output()
	return err == nil && bytes.Contains(out, []byte("'Battery Power'"))
}
