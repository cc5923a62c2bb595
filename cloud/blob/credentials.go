package blob

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/hint"
)

// credentialNames lists all credentials that a storage may need. Other settings
// in a file are ignored.
var credentialNames = []string{
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION",
	"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN",
	"GS_ACCESS_KEY_ID", "GS_SECRET_ACCESS_KEY",
}

const maxCredentials = 64 << 10

// Credentials returns a function for Options.Credential. It reads a file with
// lines NAME=VALUE, like systemd's EnvironmentFile. If `file` is "", the
// function reads environment variables.
func Credentials(file string) (func(name string) string, error) {
	if file == "" {
		return os.Getenv, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, durable.StorageError("opening the credentials", file, 0, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && runtime.GOOS != "windows" && info.Mode()&(fs.ModePerm&0o077) != 0 {
		return nil, hint.Add(fmt.Errorf("%w: others may read the credentials in %s", cpar.ErrInput, file), "chmod 600 %s", file)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxCredentials+1))
	if err != nil {
		return nil, durable.StorageError("reading the credentials", file, 0, err)
	}
	values, err := parseCredentials(b)
	if err != nil {
		return nil, fmt.Errorf("credentials in %s: %w", file, err)
	}
	return func(name string) string { return values[name] }, nil
}

func parseCredentials(b []byte) (map[string]string, error) {
	if len(b) > maxCredentials {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", cpar.ErrInput, maxCredentials)
	}
	values, line := map[string]string{}, 0
	for text := range bytes.Lines(b) {
		line++
		text = bytes.TrimSpace(text)
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(string(text), "export "), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		if !ok || name == "" {
			return nil, fmt.Errorf("%w: line %d is not NAME=VALUE", cpar.ErrInput, line)
		}
		if slices.Contains(credentialNames, name) {
			values[name] = value
		}
	}
	return values, nil
}

func missingCredentials(names ...string) error {
	err := fmt.Errorf("%w: object storage: there are no credentials", cpar.ErrInput)
	return hint.Add(err, "set %s in the environment or in a file of lines NAME=VALUE", strings.Join(names, " and "))
}
