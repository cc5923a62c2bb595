package main

import (
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
		Short: "print everything that the cloud can record about a request",
		Long: `inspect answers a request as serve does, and prints everything that serve could record about
it: the log line, the metrics, the spans of a trace, and what can be learnt from the bytes of
request and reply. The request is a file from cpar annotate --save-requests FOLDER. The data
folder may be served meanwhile. inspect changes nothing in it.`,
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
				return printAsJSON(c.OutOrStdout(), report)
			}
			var b strings.Builder
			report.Print(&b)
			_, err = io.WriteString(c.OutOrStdout(), b.String())
			return err
		},
	}
	addFlags(c, &o, "data")
	c.Flags().StringVar(&request, "request", "", "`file` with the body of a request")
	c.Flags().StringVar(&tenant, "tenant", "", "`id` of the tenant that owns the index, if several have one with this id")
	return jsonFlag(c, &asJSON)
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
