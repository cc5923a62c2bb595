package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cpar"
	"cpar/internal/hint"
	"cpar/user/album"
	"cpar/user/device"
)

func albumCard() *cobra.Command {
	var keys keyFlags
	var dryRun, asJSON bool
	c := &cobra.Command{
		Use:   "card [CARD]",
		Short: "tell another device the newest state of the album",
		Long: `card prints one word that names the newest state of the album that this device has seen. A
second device that is given the word refuses an older state and a different one, as the
first device does. card sends nothing to the cloud.

A new device without a card trusts the first state of the album that a cloud shows.`,
		Example: `  $ cpar album card
  7d0f3a9ce1b2454c8a6f90b2d1e4c377@12:9f86d081884c7d65…
  $ cpar album card 7d0f3a9ce1b2454c8a6f90b2d1e4c377@12:9f86d081884c7d65…     (there)`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, this, err := keys.read()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				card, ok, err := this.AlbumCard(key)
				if err == nil && !ok {
					err = hint.Add(fmt.Errorf("printing a card: %w: this device has not seen the album of this key", cpar.ErrInput), "fetch its catalogue: cpar album list")
				}
				if err != nil {
					return err
				}
				return output(cmd, asJSON, map[string]any{"card": card.Card()}, func() { fmt.Fprintln(cmd.OutOrStdout(), card.Card()) })
			}
			card, err := device.ParseCard(args[0])
			if err == nil && card.Origin != album.ID(key) {
				err = hint.Add(fmt.Errorf("taking a card: %w: it is not a card of this key's album", cpar.ErrInput), "name the other key with --key; cpar card takes the cards of indexes")
			}
			if err == nil && !dryRun {
				err = this.AcceptAlbumCard(key, card)
			}
			if err != nil {
				return err
			}
			return output(cmd, asJSON, map[string]any{"card": card.Card(), "dry_run": dryRun}, func() {
				fmt.Fprintf(cmd.OutOrStdout(), "%s the album in generation %d, or a later one\n", either(dryRun, "this device would accept", "from now on this device accepts"), card.Generation)
			})
		},
	}
	keys.add(c)
	return writerFlags(c, &dryRun, &asJSON)
}
