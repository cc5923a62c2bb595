package user

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"

	"filippo.io/age"
	"filippo.io/age/armor"

	"cpar"
	"cpar/internal/hint"
)

// defaultScryptLogN is log₂ of age's default work factor, about one second.
// maxWork limits the work that a hostile file can demand.
const defaultScryptLogN, maxWork = 18, 22

// scryptLogN is log₂ of the work factor of new files. Tests of this package
// lower it.
var scryptLogN = defaultScryptLogN

var errPassphrase = hint.Add(fmt.Errorf("%w: the passphrase does not match", cpar.ErrKey), typeAgain)

const typeAgain = "run the command again and type the passphrase of this key file, or name another file with --key"

func encryptWithPassphrase(text []byte, passphrase string) ([]byte, error) {
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	to.SetWorkFactor(scryptLogN)
	defer freeScryptMemory()
	return encryptTo(text, to)
}

func decryptWithPassphrase(text []byte, pass string) ([]byte, error) {
	who, err := age.NewScryptIdentity(pass)
	if err != nil {
		return nil, hint.Add(fmt.Errorf("%w: the passphrase is empty", cpar.ErrKey), typeAgain)
	}
	who.SetMaxWorkFactor(maxWork)
	defer freeScryptMemory()
	out, err := decryptWith(text, who)
	if _, wrong := errors.AsType[*age.NoIdentityMatchError](err); wrong {
		return nil, errPassphrase
	}
	return out, err
}

// freeScryptMemory returns scrypt's 256 MB to the system. Otherwise the collector would
// count them as live and let the heap grow to twice that size.
func freeScryptMemory() { debug.FreeOSMemory() }

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
