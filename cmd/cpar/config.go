package main

import "github.com/spf13/cobra"

func configCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "config",
		Short: "show the effective settings and their origins",
		Long: `config shows the values that commands use for flags that are not given. The order is:
flag, environment, configuration file, default. The file is config.toml in the folder
cpar of your configuration folder, or the file in CPAR_CONFIG. An unknown setting in it is
an error. Paths in it may begin with ~/ and are otherwise relative to its folder.

The token of a cloud is no setting, but the name of its file is. The token can also be in
$CPAR_TOKEN, which takes precedence over $CPAR_TOKEN_FILE. If the environment or the file
names a cloud beside the token, no other cloud is shown the token.

` + table.Text(),
		Example: `  $ cat ~/.config/cpar/config.toml
  cloud = "http://127.0.0.1:8080"
  model = "~/models/mobilenetv2-12.onnx"
  $ cpar config
  cloud  http://127.0.0.1:8080  (file)`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := table.Show(cmd, "")
			if err != nil {
				return err
			}
			file, _ := table.File("")
			return table.Print(cmd.OutOrStdout(), file, all, asJSON)
		},
	}
	jsonFlag(c, &asJSON)
	return c
}
