package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nats-io/nkeys"
	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/durable"
	"cpar/internal/exitcode"
)

// userConfig is the nats-server configuration that lets only the cluster's nodes
// send requests, reply, and use the JetStream bucket with the active
// generations.
const userConfig = `authorization { users: [ { nkey: %s, permissions: {
  publish: ["cpar.>", "_INBOX.>", "$JS.API.>", "$JS.FC.>", "$JS.ACK.>", "$KV.cpar-active.>"]
  subscribe: ["cpar.>", "_INBOX.>"]
} } ] }
`

func newClusterKey() *cobra.Command {
	var o options
	return addFlags(&cobra.Command{
		Use:   "key --nats-seed FILE",
		Short: "make the nkey of a cluster's nodes",
		Long: `key writes the seed of a new nkey into a file that only you can read, and prints the matching
configuration for nats-server: the public half, and the permissions of the nodes. An existing
seed is kept, and its configuration is printed again. All nodes of a cluster share one seed.
NATS servers need none.`,
		Example: "  $ cpard cluster key --nats-seed machines.seed > users.conf",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Cluster.Seed == "" {
				return exitcode.UsageError(errors.New("which file? pass --nats-seed FILE"))
			}
			public, err := nkey(o.Cluster.Seed)
			if err != nil {
				return fmt.Errorf("the nkey in %s: %w", o.Cluster.Seed, err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), userConfig, public)
			return err
		},
	}, &o, "nats-seed")
}

// nkey returns the public half of the key pair whose seed is in a file. It
// creates the file if necessary.
func nkey(file string) (public string, err error) {
	seed, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		seed, err = newSeed(file)
	}
	if err != nil {
		return "", durable.StorageError("reading", file, 0, err)
	}
	pair, err := nkeys.FromSeed(bytes.TrimSpace(seed))
	if err == nil {
		public, err = pair.PublicKey()
	}
	if err != nil || !nkeys.IsValidPublicUserKey(public) {
		return "", fmt.Errorf("%w: it is not a user's seed", cpar.ErrInput)
	}
	return public, nil
}

func newSeed(file string) ([]byte, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := pair.Seed()
	if err != nil {
		return nil, err
	}
	return seed, durable.WriteNew(durable.OS, file, append(bytes.Clone(seed), '\n'), 0o600)
}
