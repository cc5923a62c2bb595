package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/album"
	"cpar/user/device"
)

func cardCommand() *cobra.Command {
	var keys keyFlags
	var force, dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "card [CARD]",
		Short: "tell another device the newest generation of an index",
		Long: `card prints one word that names the index in use with a key and its newest generation as
seen by this device. A second device that is given the word refuses an older generation, a
different one, and another index, as the first device does. If the second
device has seen the index, the card replaces nothing until a generation that descends from
both has been opened.

A new device without a card trusts the first index that a cloud shows.`,
		Example: `  $ cpar card --key family.key
  3a9d33fd4c9e228a4994b0d476c91826@4:9f86d081884c7d65…
  $ cpar card 3a9d33fd4c9e228a4994b0d476c91826@4:9f86d081884c7d65… --key family.key     (there)`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var card device.IndexGeneration
			if len(args) == 1 {
				var err error
				if card, err = device.ParseCard(args[0]); err != nil {
					return err
				}
			}
			key, d, err := keys.read()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if card.Origin == album.ID(key) {
					return hint.Add(fmt.Errorf("taking a card: %w: it is a card of the album", cpar.ErrInput), "cpar album card %s", card.Card())
				}
				if !dryRun {
					if err := d.AcceptCard(key, card, force); err != nil {
						return err
					}
				}
				return output(cmd, asJSON, map[string]any{"card": card.Card(), "dry_run": dryRun}, func() {
					fmt.Fprintf(cmd.OutOrStdout(), "%s index %v in generation %d, or a later one, with key %.8s…\n", either(dryRun, "this device would accept", "from now on this device accepts"), card.Origin, card.Generation, key.Fingerprint())
					next(cmd, "cpar annotate PHOTO%s", keys.again())
				})
			}
			seen, ok, err := d.InUse(key)
			if err != nil {
				return err
			}
			if !ok {
				return hint.Add(fmt.Errorf("printing a card: %w: this device has not seen an index of this key", cpar.ErrInput), "push one, or annotate a photo first")
			}
			return output(cmd, asJSON, map[string]any{"card": seen.Card()}, func() {
				fmt.Fprintln(cmd.OutOrStdout(), seen.Card())
				next(cmd, "on the other device, which needs a copy of this key: cpar card %s", seen.Card())
			})
		},
	}
	keys.add(c)
	c.Flags().BoolVar(&force, "force", false, "accept a card that is older than or different from what this device has seen")
	return writerFlags(c, &dryRun, &asJSON)
}
