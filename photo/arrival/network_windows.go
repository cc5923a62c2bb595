package arrival

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// Remote reports whether a folder is on a network drive.
func Remote(folder string) bool {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return false
	}
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(abs) + `\`)
	return err == nil && windows.GetDriveType(root) == windows.DRIVE_REMOTE
}
