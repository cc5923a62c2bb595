package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/cparhttp"
	"cpar/internal/hint"
	"cpar/internal/indexdir"
	"cpar/internal/progress/bar"
)

// replace deletes an index that another has taken the place of. One that is gone
// already is no mistake: the push may have been broken off after it.
func replace(ctx context.Context, client *cparhttp.Client, old cpar.IndexID) error {
	// Remembered first: from now on a cloud that offers it is not believed.
	if err := retire(old); err != nil {
		return err
	}
	if err := client.Delete(ctx, old); err != nil && !errors.Is(err, cparhttp.ErrNotFound) {
		return err
	}
	return nil
}

func pushCommand() *cobra.Command {
	var cloud cloudFlags
	var dryRun, force, asJSON bool
	var replaces string
	c := &cobra.Command{
		Use:   "push INDEX",
		Short: "send an encrypted index to a cloud",
		Long: `push sends an index that build made to a cloud and makes it active there in one
step. No key is needed: all that is sent is encrypted. What the cloud has already
is not sent again, so a push that was broken off goes on where it was, and one
after add or remove sends what is new. --replaces deletes another index there
afterwards, the one that compact has made useless.

Where the cloud has this index in a state that the folder was not made of by add,
remove or compact on this device, another device may have added photos: push refuses
to replace it (exit code 7) unless --force is given.`,
		Example: `  $ cpar push family.index --cloud http://127.0.0.1:8080
  pushed index 0f3c… (86 MB) to http://127.0.0.1:8080`,
		Args: oneArg("the folder of an index"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var old cpar.IndexID
			if replaces != "" {
				var err error
				if old, err = cpar.ParseIndexID(replaces); err != nil {
					return err
				}
			}
			m, err := indexdir.ReadManifest(args[0])
			if err != nil {
				return hint.Add(err, "name the folder that cpar build --out made")
			}
			if replaces != "" && old == m.ID {
				return fmt.Errorf("pushing: %w: --replaces names the index that is pushed", cpar.ErrInput)
			}
			replaced := []cpar.IndexID{m.ID}
			if replaces != "" {
				replaced = append(replaced, old)
			}
			client, err := cloud.client()
			if err != nil {
				return err
			}
			if !dryRun {
				if !force {
					for _, id := range replaced {
						if err := checkReplaced(cmd.Context(), client, id, m); err != nil {
							return err
						}
					}
				}
				report := bar.On(cmd.ErrOrStderr())
				if m, err = client.Push(cmd.Context(), args[0], func(done, total int64) {
					if report != nil {
						report("push, kB", int(done/1000), int(total/1000))
					}
				}); err != nil {
					return err
				}
				if replaces != "" {
					if err := replace(cmd.Context(), client, old); err != nil {
						return err
					}
				}
			}
			result := map[string]any{"id": m.ID, "bytes": m.Bytes(), "cloud": client.URL(), "dry_run": dryRun}
			if replaces != "" {
				result["replaces"] = old
			}
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
	c.Flags().StringVar(&replaces, "replaces", "", "`id` of an index to delete at the cloud when this one is active")
	c.Flags().BoolVar(&force, "force", false, "replace what the cloud has, whoever put it there")
	dryRunFlag(c, &dryRun)
	jsonFlag(c, &asJSON)
	return c
}
