package user

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"cpar"
)

// A key file with slots opens with any one of several passphrases:
//
//	passphrase of a slot ─scrypt─▶ identity (X25519), the same in all slots ─▶ seed and policy
//
// The holder of one passphrase can therefore change the policy or add a slot
// without knowing the other passphrases. A digest keyed by the identity
// authenticates the whole file.
const (
	slottedLine = "CPAR-SLOTTED-1" // precedes the file's id, 32 hexadecimal digits
	slotLine    = "CPAR-SLOT-1"    // precedes the slot's name, then the encrypted identity
	payloadLine = "CPAR-PAYLOAD-1" // precedes the key, encrypted to the identity
	digestLine  = "CPAR-DIGEST-1"  // followed by the keyed digest of everything before, 64 digits
)

// MaxSlots limits the number of scrypt attempts, about one second each.
const MaxSlots = 8

// FirstSlot is the name of the slot made from a file's single passphrase.
const FirstSlot = "first"

// A slotFile is a key file with slots. Its identity is nil until a slot is opened.
type slotFile struct {
	id       string
	slots    []slot
	payload  []byte
	digest   []byte
	identity *age.X25519Identity
	opened   int // index of the slot that the passphrase opened, or −1
}

type slot struct {
	name  string
	armor []byte
}

var slotName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

func checkSlotName(name string) error {
	if slotName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%w: %q cannot name a slot; use up to 32 small letters, digits and hyphens", cpar.ErrInput, name)
}

func newSlotted() (*slotFile, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	id := make([]byte, 16)
	rand.Read(id) // never fails
	return &slotFile{id: hex.EncodeToString(id), identity: identity, opened: -1}, nil
}

// add encrypts the identity under a passphrase, in a new slot or the existing
// slot of this name.
func (s *slotFile) add(name string, passphrase func() (string, error)) error {
	next, err := passphrase()
	if err != nil {
		return err
	}
	text, err := encryptWithPassphrase([]byte(s.identity.String()+"\n"), next)
	if err != nil {
		return fmt.Errorf("encrypting the key: %w", err)
	}
	at := s.index(name)
	if at < 0 {
		at = len(s.slots)
		s.slots = append(s.slots, slot{name: name})
	}
	s.slots[at].armor = text
	return nil
}

func (s *slotFile) index(name string) int {
	return slices.IndexFunc(s.slots, func(x slot) bool { return x.name == name })
}

func (s *slotFile) seal(text []byte) (_ []byte, err error) {
	if s.payload, err = encryptTo(text, s.identity.Recipient()); err != nil {
		return nil, err
	}
	s.digest = s.keyedDigest()
	return s.encode(), nil
}

func (s *slotFile) encode() []byte {
	return fmt.Appendf(s.covered(), "%s %x\n", digestLine, s.digest)
}

func (s *slotFile) covered() []byte {
	out := fmt.Appendf(nil, "%s %s\n", slottedLine, s.id)
	for _, x := range s.slots {
		out = fmt.Appendf(out, "%s %s\n%s", slotLine, x.name, x.armor)
	}
	return fmt.Appendf(out, "%s\n%s", payloadLine, s.payload)
}

func (s *slotFile) keyedDigest() []byte {
	key, err := hkdf.Key(sha256.New, []byte(s.identity.String()), nil, "cpar/v1/key-file/digest", 32)
	if err != nil {
		panic("user: " + err.Error()) // HKDF-SHA256 always yields 32 bytes
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(s.covered())
	return mac.Sum(nil)
}

func hasSlots(text []byte) bool {
	for line := range bytes.Lines(text) {
		if first, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" ")); isOurs(string(first)) {
			return string(first) == slottedLine
		}
	}
	return false
}

// parseSlots allows remarks only before the slots, because the digest must
// cover every significant line.
func parseSlots(text []byte) (*slotFile, error) {
	p := slotLines{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && (len(p) > 0 || isOurs(line)) {
			p = append(p, line)
		}
	}
	s := &slotFile{opened: -1}
	ok := p.value(slottedLine, &s.id) && len(s.id) == 32 && isHex(s.id)
	for ok && p.next(slotLine) && len(s.slots) < MaxSlots {
		var x slot
		ok = p.value(slotLine, &x.name) && checkSlotName(x.name) == nil && s.index(x.name) < 0 && p.block(&x.armor)
		s.slots = append(s.slots, x)
	}
	var none, digits string
	ok = ok && len(s.slots) > 0 && p.value(payloadLine, &none) && none == "" && p.block(&s.payload) &&
		p.value(digestLine, &digits) && len(digits) == 64 && isHex(digits) && len(p) == 0
	if !ok {
		return nil, fmt.Errorf("%w: it was written by a later program, or is damaged; use a copy of the file", cpar.ErrKey)
	}
	s.digest, _ = hex.DecodeString(digits) // validated above
	return s, nil
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

type slotLines []string

func (p *slotLines) next(first string) bool {
	return len(*p) > 0 && ((*p)[0] == first || strings.HasPrefix((*p)[0], first+" "))
}

func (p *slotLines) value(first string, to *string) bool {
	if !p.next(first) {
		return false
	}
	*to = strings.TrimPrefix(strings.TrimPrefix((*p)[0], first), " ")
	*p = (*p)[1:]
	return true
}

func (p *slotLines) block(to *[]byte) bool {
	end := slices.Index(*p, armor.Footer)
	if end < 1 || (*p)[0] != armor.Header {
		return false
	}
	*to = []byte(strings.Join((*p)[:end+1], "\n") + "\n")
	*p = (*p)[end+1:]
	return true
}

// open finds the identity, checks the digest and decrypts the key's text.
func (s *slotFile) open(how Unlock) ([]byte, error) {
	if how.Identity != nil {
		// A stored identity of an older version of the file is ignored.
		if identity, err := age.ParseX25519Identity(how.Identity(s.id)); err == nil {
			if text, err := s.openWith(identity); err == nil {
				return text, nil
			}
		}
	}
	if how.Slot != "" && s.index(how.Slot) < 0 {
		return nil, fmt.Errorf("%w: it has no slot called %s", cpar.ErrKey, how.Slot)
	}
	pass, err := how.ask()
	if err != nil {
		return nil, err
	}
	for i, x := range s.slots {
		if how.Slot != "" && x.name != how.Slot {
			continue
		}
		text, err := decryptWithPassphrase(x.armor, pass)
		if errors.Is(err, errPassphrase) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("slot %s: %w", x.name, err)
		}
		identity, err := age.ParseX25519Identity(strings.TrimSpace(string(text)))
		if err != nil { // the error may contain the identity
			return nil, fmt.Errorf("%w: slot %s is damaged; use a copy of the file", cpar.ErrKey, x.name)
		}
		s.opened = i
		return s.openWith(identity)
	}
	return nil, errPassphrase
}

func (s *slotFile) openWith(identity *age.X25519Identity) ([]byte, error) {
	s.identity = identity
	if !hmac.Equal(s.digest, s.keyedDigest()) {
		return nil, fmt.Errorf("%w: it was changed by somebody who cannot open it, or is damaged; use a copy of the file", cpar.ErrKey)
	}
	return decryptWith(s.payload, identity)
}
