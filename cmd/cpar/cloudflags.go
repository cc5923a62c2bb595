package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

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

// cloudFlags name a cloud, the credentials for it and, if needed, one of its
// indexes.
type cloudFlags struct {
	url, index    string
	tokenFile     string
	ca, cert, key string
	// tokenFlag is the name of the flag for the token file. An empty name
	// stands for token-file.
	tokenFlag string

	cmd *cobra.Command
}

// tokenVariable is the name of the environment variable that holds a token. In
// contrast, the flag, $CPAR_TOKEN_FILE and the configuration file name a file
// that holds a token.
const tokenVariable = "CPAR_TOKEN"

func (f *cloudFlags) add(c *cobra.Command) {
	f.cmd = c
	f.tokenFlag = cmp.Or(f.tokenFlag, "token-file")
	c.Flags().StringVar(&f.url, "cloud", "", "`URL` of the cloud (default $CPAR_CLOUD)")
	c.Flags().StringVar(&f.tokenFile, f.tokenFlag, "", "`file` with the token of the cloud (default: the token in $CPAR_TOKEN)")
	c.Flags().StringVar(&f.ca, "cloud-ca", "", "`file` with the certificates to trust for the cloud, such as a self-signed one")
	c.Flags().StringVar(&f.cert, "cloud-cert", "", "`file` with a certificate to present to the cloud")
	c.Flags().StringVar(&f.key, "cloud-cert-key", "", "`file` with the key of that certificate")
}

func (f *cloudFlags) access() (a access.Access, err error) {
	if f.url == "" {
		advice := "pass --cloud http://127.0.0.1:8080 (or the address of your cpard)"
		if f.cmd.Flags().Lookup("own-words") != nil {
			advice += ", or --own-words, which needs neither a cloud nor photos with keywords"
		}
		return a, hint.Add(exitcode.UsageError(errors.New("no cloud was named")), "%s", advice)
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
	c, err := a.Client()
	if err == nil {
		c.Silent = tellSilence(f.cmd.ErrOrStderr())
	}
	return c, err
}

// tellSilence returns a function that shows on a terminal how long the server
// has been silent. It returns nil if w is not a terminal.
func tellSilence(w io.Writer) func(time.Duration) {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func(d time.Duration) {
		text := "\r" + strings.Repeat(" ", 60) + "\r"
		if d > 0 {
			text = fmt.Sprintf("\rwaiting for the server (%d s); ^C stops", d/time.Second)
		}
		fmt.Fprint(w, text)
	}
}

// token returns the cloud's token from the flag's file, the environment
// ($CPAR_TOKEN before $CPAR_TOKEN_FILE) or the configuration file. If the
// source of the token also names a cloud, the token is sent only to that cloud.
func (f *cloudFlags) token() (none bearer.Token, err error) {
	if f.cmd.Flags().Changed(f.tokenFlag) {
		if f.tokenFile == "" {
			return none, nil // an empty --token-file= asks for no token
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

func (f *cloudFlags) addIndex(c *cobra.Command) {
	c.Flags().StringVar(&f.index, "index", "", indexUsage+", if the cloud has several")
}

// opening returns options for the index in --index, if any.
func (f *cloudFlags) opening() (o device.OpenOptions, err error) {
	if f.index == "" {
		return o, nil
	}
	m, there, err := indexAt(f.index)
	if there {
		resolved(f.cmd, "--index %s is a folder here, with index %v", f.index, m.ID)
		o.Index = m.ID
		return o, nil
	}
	if err == nil {
		o.Index, o.Name, err = nameOrID(f.index)
	}
	return o, err
}

// nameOrID parses an index ID. It returns any other text as a name. Names can
// be looked up only with the key.
func nameOrID(text string) (id cpar.IndexID, name string, err error) {
	if id, err = cpar.ParseIndexID(text); err != nil {
		return id, text, user.CheckName(text)
	}
	if id == (cpar.IndexID{}) {
		err = fmt.Errorf("%w: %v names no index", cpar.ErrInput, id)
	}
	return id, "", err
}
