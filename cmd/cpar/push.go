package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/progress"
)

func pushCommand() *cobra.Command {
	var cloud cloudFlags
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "push INDEX",
		Short: "send an encrypted index to a cloud",
		Long: `push sends an index that build made to a cloud and makes it active there in one
step. No key is needed: all that is sent is encrypted. What the cloud has already
is not sent again, so a push that was broken off goes on where it was.`,
		Example: `  $ cpar push family.index --cloud http://127.0.0.1:8080
  pushed index 0f3c… (86 MB) to http://127.0.0.1:8080`,
		Args: oneArg("the folder of an index"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := indexdir.ReadManifest(args[0])
			if err != nil {
				return hint.Add(err, "name the folder that cpar build --out made")
			}
			client, err := cloud.client()
			if err != nil {
				return err
			}
			if !dryRun {
				report := progress.Bar(cmd.ErrOrStderr())
				if m, err = client.Push(cmd.Context(), args[0], func(done, total int64) {
					if report != nil {
						report("push, kB", int(done/1000), int(total/1000))
					}
				}); err != nil {
					return err
				}
			}
			result := map[string]any{"id": m.ID, "bytes": m.Bytes(), "cloud": client.URL(), "dry_run": dryRun}
			return output(cmd, asJSON, result, func() {
				verb := "pushed"
				if dryRun {
					verb = "would push"
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s index %v (%s) to %s\n", verb, m.ID, size(m.Bytes()), client.URL())
				if !dryRun {
					next(cmd, "cpar annotate PHOTO --cloud %s", client.URL())
				}
			})
		},
	}
	cloud.add(c)
	dryRunFlag(c, &dryRun)
	jsonFlag(c, &asJSON)
	return c
}
