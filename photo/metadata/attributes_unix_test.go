//go:build linux || darwin

package metadata

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"cpar"
)

const tags = "user.xdg.tags" // Dolphin's

func tag(t *testing.T, path, value string) {
	t.Helper()
	if err := unix.Setxattr(path, tags, []byte(value), 0); err != nil {
		t.Skip("no extended attributes here: ", err)
	}
}

func TestApplyKeepsExtendedAttributes(t *testing.T) {
	for _, where := range []Where{Sidecar, Embedded} {
		photo := save(t, "a.jpg", plainJPEG(t))
		put(t, photo+".xmp", []byte(subjects("mine")))
		e, err := Plan(photo, where, Append, skySea)
		if err != nil {
			t.Fatal(err)
		}
		tag(t, e.Path, "holiday,anna")
		if err := unix.Setxattr(e.Path, "user.empty", nil, 0); err != nil {
			t.Fatal(err)
		}
		for i, edit := range []*Edit{e, e.Undo()} {
			if err := edit.Apply(true); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 100)
			n, err := unix.Getxattr(e.Path, tags, buf)
			if err != nil || string(buf[:n]) != "holiday,anna" {
				t.Errorf("%s, edit %d: tags %q, %v", where, i, buf[:max(n, 0)], err)
			}
			if n, err := unix.Getxattr(e.Path, "user.empty", buf); n != 0 || err != nil {
				t.Errorf("%s, edit %d: an empty attribute has %d bytes, %v", where, i, n, err)
			}
		}
	}
}

// Attributes set by users must be kept, or the edit fails.
func TestAttributesThatCannotBeKept(t *testing.T) {
	from, to := save(t, "a.jpg", plainJPEG(t)), save(t, "b.jpg", plainJPEG(t))
	tag(t, from, "anna")
	refuse := func(string, string, []byte, int) error { return unix.EPERM }
	if err := copyAttributesBy(refuse, from, to); !errors.Is(err, cpar.ErrStorage) || !errors.Is(err, unix.EPERM) {
		t.Errorf("tags that cannot be set: %v", err)
	}
	if os.Geteuid() != 0 || unix.Removexattr(from, tags) != nil {
		return // only the superuser can set what is refused below
	}
	if err := unix.Setxattr(from, "trusted.overlay", []byte("x"), 0); err != nil {
		t.Skip("no attributes of the system here: ", err)
	}
	if err := copyAttributesBy(refuse, from, to); err != nil {
		t.Errorf("what only the system may set: %v", err)
	}
}
