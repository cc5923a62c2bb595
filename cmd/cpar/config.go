package main

import "github.com/spf13/cobra"

func configCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "config",
		Short: "show which settings apply, and from where",
		Long: `config shows what commands take for flags that are not given. In this order: the flag, the
environment, the configuration file, the default. The file is config.toml in the folder
cpar of your configuration folder, or what CPAR_CONFIG names; a setting that it
misspells is an error. Paths in it may begin with ~/, and count from its own folder.

The token of a cloud is no setting, but the file that it is in is one; or it is in
$CPAR_TOKEN, which goes before $CPAR_TOKEN_FILE. Where the environment or the file names a
cloud beside the token, that cloud alone is shown it.

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
