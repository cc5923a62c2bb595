package user

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"

	"filippo.io/age"
	"filippo.io/age/armor"

	"cpar"
)

// defaultScryptLogN is age's own default, about a second: a key file is opened once
// a command. maxWork bounds what a hostile file can ask for.
const defaultScryptLogN, maxWork = 18, 22

// work is what new files are encrypted with: defaultScryptLogN, but in tests of this package.
var scryptLogN = defaultScryptLogN

// errPassphrase is the error of a passphrase that opens something else, if anything.
var errPassphrase = fmt.Errorf("%w: the passphrase does not fit", cpar.ErrKey)

func encryptWithPassphrase(text []byte, passphrase string) ([]byte, error) {
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	to.SetWorkFactor(scryptLogN)
	defer giveBack()
	return encryptTo(text, to)
}

func decryptWithPassphrase(text []byte, pass string) ([]byte, error) {
	who, err := age.NewScryptIdentity(pass)
	if err != nil {
		return nil, fmt.Errorf("%w: the passphrase is empty", cpar.ErrKey)
	}
	who.SetMaxWorkFactor(maxWork)
	defer giveBack()
	out, err := decryptWith(text, who)
	var wrong *age.NoIdentityMatchError
	if errors.As(err, &wrong) {
		return nil, errPassphrase
	}
	return out, err
}

// giveBack returns the 256 MB that scrypt has worked in. The collector counted them as
// live, and would let everything afterwards grow to twice that before it looked again.
func giveBack() { debug.FreeOSMemory() }

func encryptTo(text []byte, to age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	w, err := age.Encrypt(armored, to)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), armored.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func decryptWith(text []byte, who age.Identity) ([]byte, error) {
	r, err := age.Decrypt(armor.NewReader(bytes.NewReader(text)), who)
	if err == nil {
		text, err = limited(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the encrypted key is damaged: %w", cpar.ErrKey, err)
	}
	return text, nil
}
