package device

import (
	"path/filepath"

	"cpar"
	"cpar/user"
)

const albumsFolder = "albums"

func (d *Device) AlbumFolder(key *user.Key) string {
	return filepath.Join(d.State, albumsFolder, key.Fingerprint())
}

// SeeAlbum refuses a generation of the key's album that does not descend from
// the newest generation seen here. Otherwise it records the generation, unless
// it has no digest.
func (d *Device) SeeAlbum(key *user.Key, now IndexGeneration, h user.History) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		if m.Album != nil {
			err := m.Album.precedes(now, h, "the server shows an old state of the album. If its operator has restored a backup: cpar album verify --force",
				"two servers, or a server that lies, have shown different albums. If you trust this one: cpar album verify --force")
			if err != nil {
				return err
			}
		}
		if now.Digest != (cpar.Digest{}) {
			m.Album = &now
		}
		return nil
	})
}

// TrustAlbum makes the device accept a generation of the key's album, even an
// older one, and its descendants. If it has no digest, the device accepts any
// generation.
func (d *Device) TrustAlbum(key *user.Key, now IndexGeneration) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		m.Album = &now
		if now.Digest == (cpar.Digest{}) {
			m.Album = nil
		}
		return nil
	})
}
