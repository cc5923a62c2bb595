package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cloud/inspect"
	"cpar/internal/exitcode"
	"cpar/internal/sanitize"
)

func newInspect() *cobra.Command {
	var o options
	var request, tenant string
	var asJSON bool
	c := &cobra.Command{
		Use:   "inspect --data DIR --request FILE",
		Short: "print all that the cloud could write down about a request",
		Long: `inspect answers a request as serve does, and prints what serve could have written
down about it: the line of the log, what the metrics count, the spans of a trace,
and what can be learnt from the bytes of request and reply. The request is a file
of: cpar annotate --save-requests FOLDER. The data folder may be in use by a
server; nothing in it is changed.`,
		Example: "  $ cpar annotate beach.jpg --save-requests sent/ …\n  $ cpard inspect --data ~/cpar-cloud --request sent/request-0001",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := needData(o.Data); err != nil {
				return err
			}
			if request == "" {
				return exitcode.UsageError(fmt.Errorf("which request? pass --request FILE"))
			}
			body, err := readRequest(request)
			if err != nil {
				return err
			}
			report, err := inspect.Request(c.Context(), o.Data, tenant, body)
			if err != nil {
				return err
			}
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(report)
			}
			var b strings.Builder
			report.Print(&b)
			_, err = io.WriteString(c.OutOrStdout(), b.String())
			return err
		},
	}
	addFlags(c, &o, "data")
	c.Flags().StringVar(&request, "request", "", "`file` with the body of a request")
	c.Flags().StringVar(&tenant, "tenant", "", "`id` of the tenant whose index it is, where several have one of the same id")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON instead of text")
	return c
}

func readRequest(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w: %w", cpar.ErrInput, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, cpar.MaxRequestBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the request %s: %w: %w", sanitize.Text(path), cpar.ErrInput, err)
	}
	return b, nil
}
