package device

import (
	"fmt"
	"path/filepath"

	"cpar"
	"cpar/internal/hint"
	"cpar/user"
)

const albumsFolder = "albums"

func (d *Device) AlbumFolder(key *user.Key) string {
	return filepath.Join(d.State, albumsFolder, key.Fingerprint())
}

const (
	albumOld    = "the server shows an old state of the album. If its operator has restored a backup: cpar album verify --force"
	albumForked = "two servers, or a server that lies, have shown different albums. If you trust this one: cpar album verify --force"
)

// SeeAlbum refuses a generation of the key's album unless it descends from both
// the newest generation seen here and the generation on a card. Otherwise it
// records the generation, unless it has no digest.
func (d *Device) SeeAlbum(key *user.Key, now IndexGeneration, h user.History) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		for _, before := range []*IndexGeneration{m.Album, m.AlbumCard} {
			if before != nil {
				if err := before.precedes(now, h, albumOld, albumForked); err != nil {
					return err
				}
			}
		}
		if now.Digest != (cpar.Digest{}) {
			m.Album, m.AlbumCard = &now, nil
		}
		return nil
	})
}

// TrustAlbum makes the device accept a generation of the key's album, even an older
// one, and its descendants. If it has no digest, the device accepts any generation.
func (d *Device) TrustAlbum(key *user.Key, now IndexGeneration) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		m.Album, m.AlbumCard = &now, nil
		if now.Digest == (cpar.Digest{}) {
			m.Album = nil
		}
		return nil
	})
}

// AlbumCard returns the newest generation of the key's album that this device has
// seen or was given on a card, or false if there is none.
func (d *Device) AlbumCard(key *user.Key) (s IndexGeneration, ok bool, err error) {
	err = d.withMemory(key.Fingerprint(), func(m *memory) error {
		for _, known := range []*IndexGeneration{m.Album, m.AlbumCard} {
			if known != nil && known.Generation > s.Generation {
				s, ok = *known, true
			}
		}
		return nil
	})
	return s, ok, err
}

// AcceptAlbumCard makes the device refuse generations that do not descend from the
// generation on another device's card. The card replaces no generation seen here.
func (d *Device) AcceptAlbumCard(key *user.Key, card IndexGeneration) error {
	return d.withMemory(key.Fingerprint(), func(m *memory) error {
		for _, known := range []*IndexGeneration{m.Album, m.AlbumCard} {
			if known != nil && (known.Generation > card.Generation || known.Generation == card.Generation && known.Digest != card.Digest) {
				return hint.Add(fmt.Errorf("taking a card: %w: this device knows generation %d, state %.8v…", cpar.ErrInput, known.Generation, known.Digest),
					"print a newer card on the device that is right: cpar album card")
			}
		}
		m.AlbumCard = &card
		return nil
	})
}
