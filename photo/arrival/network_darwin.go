package arrival

import "golang.org/x/sys/unix"

// Remote reports whether a folder is on a network file system, where changes by
// other machines cause no events.
func Remote(folder string) bool {
	var s unix.Statfs_t
	return unix.Statfs(folder, &s) == nil && s.Flags&unix.MNT_LOCAL == 0
}
