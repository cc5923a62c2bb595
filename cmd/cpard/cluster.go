package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cpar/cloud/cluster"
	"cpar/cloud/store"
)

func newCluster() *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "inspect and change a cluster",
		Long: `cluster talks to the NATS servers of a cluster (docs/operating.md shows how to set one up).
It needs no data folder and runs on any machine that reaches these servers.`,
	}
	c.AddCommand(newClusterStatus(), newClusterDrain(), newClusterRebuild(), newClusterKey())
	return c
}

var toCluster = []string{"nats", "nats-seed", "nats-ca"}

func (o *options) operate(c *cobra.Command, f func(*cluster.Operator) error) error {
	o.Cluster.Log = newLog(c.ErrOrStderr(), o.level, o.jsonLog)
	x, err := cluster.Operate(o.Cluster.Options)
	if err != nil {
		return err
	}
	defer x.Close()
	return stopped(c, f(x))
}

func newClusterStatus() *cobra.Command {
	var o options
	var asJSON bool
	c := &cobra.Command{
		Use:     "status --nats SERVERS",
		Short:   "list the live nodes",
		Example: "  $ cpard cluster status --nats tls://a:4222,tls://b:4222,tls://c:4222 --nats-seed seed\n  m1  7 parts\n  m2  7 parts, leaving\n  2 nodes, 3 of 3 NATS servers, 5 indexes",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.operate(c, func(x *cluster.Operator) error {
				s, err := x.Status(c.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return printAsJSON(c.OutOrStdout(), s)
				}
				return printStatus(c, s)
			})
		},
	}
	return jsonFlag(addFlags(c, &o, toCluster...), &asJSON)
}

func printStatus(c *cobra.Command, s *cluster.Status) error {
	tab := tabwriter.NewWriter(c.OutOrStdout(), 0, 4, 2, ' ', 0)
	for _, n := range s.Nodes {
		says := fmt.Sprintf("%d parts", n.Shards)
		if n.Leaving {
			says += ", leaving"
		}
		if n.Rack != "" {
			says += ", rack " + n.Rack
		}
		fmt.Fprintf(tab, "%s\t%s\n", n.Node, says)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	known := indexes(s.Indexes)
	if s.Indexes < 0 {
		known = "unknown indexes (fewer than half of the NATS servers respond)"
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "%d nodes, %d of %d NATS servers, %s\n", len(s.Nodes), s.Servers, s.Named, known)
	return err
}

func newClusterDrain() *cobra.Command {
	var o options
	return addFlags(&cobra.Command{
		Use:   "drain NODE --nats SERVERS",
		Short: "drain a node, so that it can be stopped",
		Long: `drain makes other nodes take over the parts of a node. The node still answers meanwhile: stop
it once cpard cluster status shows that the others have all their parts. A restarted node is
no longer drained.`,
		Example: "  $ cpard cluster drain m2 --nats tls://a:4222,tls://b:4222,tls://c:4222 --nats-seed seed\n  m2 is leaving",
		Args:    oneNode,
		RunE: func(c *cobra.Command, args []string) error {
			return o.operate(c, func(x *cluster.Operator) error {
				if err := x.Drain(c.Context(), args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(c.OutOrStdout(), "%s is leaving\n", args[0])
				return err
			})
		},
	}, &o, toCluster...)
}

func newClusterRebuild() *cobra.Command {
	var o options
	return addFlags(&cobra.Command{
		Use:   "rebuild-meta --nats SERVERS --store ADDRESS",
		Short: "restore the metadata of NATS servers that lost it",
		Long: `rebuild-meta restores the active generation of each index in the NATS servers from the
manifests in object storage, which are authoritative. It changes only wrong entries. Nodes
also repair an index's entry when it is next searched.`,
		Example: "  $ cpard cluster rebuild-meta --nats tls://a:4222 --nats-seed seed --store s3://photos\n  5 indexes",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.withBackend(func(b store.Backend) error {
				return o.operate(c, func(x *cluster.Operator) error {
					n, err := x.Rebuild(c.Context(), b)
					if err == nil {
						_, err = fmt.Fprintln(c.OutOrStdout(), indexes(n))
					}
					return err
				})
			})
		},
	}, &o, append([]string{"data", "store", "store-credentials"}, toCluster...)...)
}
