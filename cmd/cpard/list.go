package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cpar/cloud/store"
	"cpar/cparhttp"
)

func newList() *cobra.Command {
	var o options
	var asJSON bool
	c := &cobra.Command{
		Use:   "list --data DIR",
		Short: "list the indexes in a data folder",
		Long: `list prints the indexes in a data folder, which may be served meanwhile, including indexes
that have uploads but were never activated. It reads only manifests, unlike cpard check.`,
		Example: "  $ cpard list --data ~/cpar-cloud\n  INDEX                             SCHEME  RECORDS    BYTES\n  9f6067c4caa7a19a9c8939024892e324  cpar    4500     67653394",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.withBackend(func(b store.Backend) error {
				list, err := store.List(c.Context(), b)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(c.OutOrStdout(), list)
				}
				return printTable(c.OutOrStdout(), list)
			})
		},
	}
	return jsonFlag(addFlags(c, &o, "data", "store", "store-credentials"), &asJSON)
}

// listed is the JSON output of list for one index. It adds two fields for the
// operator to the fields of the HTTP interface.
type listed struct {
	Tenant string `json:"tenant,omitempty"`
	cparhttp.IndexInfo
	Pending bool `json:"pending,omitempty"`
}

func printJSON(w io.Writer, list []store.Info) error {
	out := struct {
		Indexes []listed `json:"indexes"`
	}{[]listed{}}
	for _, x := range list {
		info := listed{x.Tenant, cparhttp.IndexInfo{ID: x.ID, Records: x.Records, Bytes: x.Bytes}, x.Pending}
		switch {
		case x.Err != nil:
			info.Damaged = x.Err.Error()
		case !x.Pending:
			info.Scheme = x.Scheme.String()
		}
		out.Indexes = append(out.Indexes, info)
	}
	return printAsJSON(w, out)
}

func printTable(w io.Writer, list []store.Info) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no indexes")
		return err
	}
	width := 0
	for _, x := range list {
		width = max(width, len(named(x)))
	}
	const row = "%-*v  %-6v  %-9v  %v\n"
	_, err := fmt.Fprintf(w, row, width, "INDEX", "SCHEME", "RECORDS", "BYTES")
	for _, x := range list {
		switch {
		case x.Err != nil:
			_, err = fmt.Fprintf(w, "%-*v  damaged: %v\n", width, named(x), x.Err)
		case x.Pending:
			_, err = fmt.Fprintf(w, row, width, named(x), "-", "pending", x.Bytes)
		default:
			_, err = fmt.Fprintf(w, row, width, named(x), x.Scheme, x.Records, x.Bytes)
		}
	}
	return err
}
