package main

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cpar/internal/progress/bar"
	"cpar/internal/sanitize"
	"cpar/user/device"
)

// maxListed is the maximum number of indexes shown, because an untrusted cloud
// may list any number.
const maxListed = 200

func listCommand() *cobra.Command {
	var keys keyFlags
	var cloud cloudFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "list the indexes at a cloud, or those known to this device",
		Long: `list prints the name and size of each index at a cloud, and which one commands use by
default. Names are decrypted with your key, and the cloud does not know them. Indexes of
other keys, damaged ones, and ones older than this device has seen are listed with the
problem. Without a cloud, list prints the indexes that this device remembers.`,
		Example: `  $ cpar list --cloud http://127.0.0.1:8080
  NAME    ID                                SCHEME  PHOTOS  SIZE  GENERATION
  family  3a9d33fd4c9e228a4994b0d476c91826  sealed  4540    7 MB  2           in use`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, this, err := keys.read()
			if err != nil {
				return err
			}
			var list []device.ListedIndex
			if cloud.url == "" {
				list, err = this.Known(key)
			} else if client, e := cloud.client(); e != nil {
				err = e
			} else {
				list, err = this.List(cmd.Context(), client, key, bar.On(cmd.ErrOrStderr()))
			}
			if err != nil {
				return err
			}
			return output(cmd, asJSON, list, func() {
				printIndexes(cmd.OutOrStdout(), list)
				if len(list) > 0 {
					return
				}
				if cloud.url == "" {
					fmt.Fprintln(cmd.ErrOrStderr(), "note: this device has seen no index of this key; --cloud URL lists a cloud's")
				} else {
					fmt.Fprintln(cmd.ErrOrStderr(), "note: the cloud has no index")
				}
			})
		},
	}
	keys.add(c)
	cloud.add(c)
	return jsonFlag(c, &asJSON)
}

func printIndexes(out io.Writer, list []device.ListedIndex) {
	if len(list) == 0 {
		return
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tID\tSCHEME\tPHOTOS\tSIZE\tGENERATION\t")
	for i, x := range list {
		if i == maxListed {
			fmt.Fprintf(w, "… and %d more (--json has them)\n", len(list)-i)
			break
		}
		state := x.Problem
		if state == "" && x.InUse {
			state = "in use"
		}
		fmt.Fprintf(w, "%s\t%v\t%s\t%s\t%s\t%s\t%s\n", orDash(x.Name), x.ID, orDash(x.Scheme), numberOrDash(uint64(x.Photos)), size(x.Bytes), numberOrDash(x.Generation), state)
	}
	w.Flush()
	for line := range bytes.Lines(table.Bytes()) { // trim the empty last column
		fmt.Fprintf(out, "%s\n", bytes.TrimRight(line, " \n"))
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return sanitize.Text(s)
}

func numberOrDash(n uint64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
