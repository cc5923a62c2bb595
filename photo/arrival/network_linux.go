package arrival

import "golang.org/x/sys/unix"

// Remote reports whether a folder is on a network file system, where changes by
// other machines cause no events. FUSE counts as one, because sshfs and rclone
// use it.
func Remote(folder string) bool {
	var s unix.Statfs_t
	if unix.Statfs(folder, &s) != nil {
		return false
	}
	switch uint32(s.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.AFS_SUPER_MAGIC,
		unix.CEPH_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC:
		return true
	}
	return false
}
