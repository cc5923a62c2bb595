package main

import (
	"encoding/json"
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
		Use:     "list --data DIR",
		Short:   "list the indexes in a data folder",
		Long:    "list shows the indexes in a data folder, which may be in use by a server.",
		Example: "  $ cpard list --data ~/cpar-cloud\n  INDEX                             SCHEME  RECORDS    BYTES\n  9f6067c4caa7a19a9c8939024892e324  cpar    4500     67653394",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needData(o.Data); err != nil {
				return err
			}
			list, err := store.List(c.Context(), o.Data)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), list)
			}
			return printTable(c.OutOrStdout(), list)
		},
	}
	addFlags(c, &o, "data")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, as the HTTP interface does")
	return c
}

func printJSON(w io.Writer, list []store.Info) error {
	out := cparhttp.IndexList{Indexes: []cparhttp.IndexInfo{}}
	for _, x := range list {
		info := cparhttp.IndexInfo{ID: x.ID, Scheme: x.Scheme.String(), Records: x.Records, Bytes: x.Bytes}
		if x.Err != nil {
			info.Scheme, info.Damaged = "", x.Err.Error()
		}
		out.Indexes = append(out.Indexes, info)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func printTable(w io.Writer, list []store.Info) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no indexes")
		return err
	}
	const row = "%-32v  %-6v  %-9v  %v\n"
	_, err := fmt.Fprintf(w, row, "INDEX", "SCHEME", "RECORDS", "BYTES")
	for _, x := range list {
		if x.Err != nil {
			_, err = fmt.Fprintf(w, "%v  damaged: %v\n", x.ID, x.Err)
		} else {
			_, err = fmt.Fprintf(w, row, x.ID, x.Scheme, x.Records, x.Bytes)
		}
	}
	return err
}
