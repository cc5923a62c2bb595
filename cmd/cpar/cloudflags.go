package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/bearer"
	"cpar/internal/exitcode"
	"cpar/internal/hint"
	"cpar/internal/sanitize"
	"cpar/internal/settings"
	"cpar/user"
	"cpar/user/access"
	"cpar/user/device"
)

// cloudFlags name a cloud, what lets this program in, and, where the cloud has several, an
// index there.
type cloudFlags struct {
	url, index    string
	tokenFile     string
	ca, cert, key string
	// tokenFlag is what the flag of the token's file is called; "" for token-file.
	tokenFlag string

	cmd *cobra.Command
}

// tokenVariable holds a token; the token's file comes from the flag, $CPAR_TOKEN_FILE or the
// configuration file.
const tokenVariable = "CPAR_TOKEN"

func (f *cloudFlags) add(c *cobra.Command) {
	f.cmd = c
	if f.tokenFlag == "" {
		f.tokenFlag = "token-file"
	}
	c.Flags().StringVar(&f.url, "cloud", "", "`URL` of the cloud (default $CPAR_CLOUD)")
	c.Flags().StringVar(&f.tokenFile, f.tokenFlag, "", "`file` with the token of the cloud (default: the token in $CPAR_TOKEN)")
	c.Flags().StringVar(&f.ca, "cloud-ca", "", "`file` with the certificates that the cloud's must be of, as for one that signed its own")
	c.Flags().StringVar(&f.cert, "cloud-cert", "", "`file` with a certificate to show the cloud")
	c.Flags().StringVar(&f.key, "cloud-cert-key", "", "`file` with the key of that certificate")
}

// access is what lets this program into the cloud.
func (f *cloudFlags) access() (a access.Access, err error) {
	if f.url == "" {
		return a, hint.Add(exitcode.UsageError(errors.New("no cloud was named")), "pass --cloud http://127.0.0.1:8080 (where cpard serves)")
	}
	a = access.Access{Cloud: f.url, CA: f.ca, Cert: f.cert, Key: f.key}
	a.Token, err = f.token()
	return a, err
}

func (f *cloudFlags) client() (*cparhttp.Client, error) {
	a, err := f.access()
	if err != nil {
		return nil, err
	}
	return a.Client()
}

// token is the cloud's, from the flag's file, the environment ($CPAR_TOKEN before
// $CPAR_TOKEN_FILE) or the configuration file. Where environment or file name a cloud beside
// the token, it is that one's, and no other cloud is shown it.
func (f *cloudFlags) token() (none bearer.Token, err error) {
	if f.cmd.Flags().Changed(f.tokenFlag) {
		if f.tokenFile == "" {
			return none, nil // as --token-file= says
		}
		return access.ReadToken(f.tokenFile)
	}
	environment, file, err := table.Sources("")
	if err != nil {
		return none, err
	}
	read := func(path []string) func() (bearer.Token, error) {
		return func() (bearer.Token, error) { return access.ReadToken(path[0]) }
	}
	for _, from := range []struct {
		found  map[string]settings.Found
		origin string
		there  bool
		read   func() (bearer.Token, error)
	}{
		{environment, "$" + tokenVariable, os.Getenv(tokenVariable) != "", func() (bearer.Token, error) {
			return access.ParseToken(os.Getenv(tokenVariable), "$"+tokenVariable)
		}},
		{environment, environment["token-file"].Origin, len(environment["token-file"].Values) == 1, read(environment["token-file"].Values)},
		{file, file["token-file"].Origin, len(file["token-file"].Values) == 1, read(file["token-file"].Values)},
	} {
		if !from.there {
			continue
		}
		if cloud := from.found["cloud"].Values; len(cloud) == 1 && !access.Same(cloud[0], f.url) {
			fmt.Fprintf(f.cmd.ErrOrStderr(), "note: the token of %s is for %s, and not shown to %s\n", from.origin, sanitize.Text(cloud[0]), sanitize.Text(f.url))
			continue
		}
		return from.read()
	}
	return none, nil
}

// addIndex adds --index, for commands that ask one.
func (f *cloudFlags) addIndex(c *cobra.Command) {
	c.Flags().StringVar(&f.index, "index", "", "`name` or id of the index at the cloud, where it has several")
}

// opening says which index was named, if any.
func (f *cloudFlags) opening() (o device.OpenOptions, err error) {
	if f.index != "" {
		o.Index, o.Name, err = nameOrID(f.index)
	}
	return o, err
}

// nameOrID is what names an index at a cloud: its id, or the name that only the key reads.
func nameOrID(text string) (id cpar.IndexID, name string, err error) {
	if id, err = cpar.ParseIndexID(text); err != nil {
		return id, text, user.CheckName(text)
	}
	if id == (cpar.IndexID{}) {
		err = fmt.Errorf("%w: %v names no index", cpar.ErrInput, id)
	}
	return id, "", err
}
