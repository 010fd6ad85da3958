package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// withUsage extends errors about arguments and flags with the correct usage.
func withUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(nearFlag)
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				if strings.Contains(err.Error(), "arg(s)") { // cobra counts without a plural
					err = fmt.Errorf("got %s", humanize.Count(len(args), "argument"))
				}
				return fmt.Errorf("%w: write %s", err, c.UseLine())
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		if c.HasSubCommands() && !c.Runnable() {
			c.RunE = nearCommand
		}
		withUsage(c)
	}
}

// nearFlag suggests the flag that a misspelt one most likely meant.
func nearFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	given := unknown.GetSpecifiedName()
	name := enum.Nearest(given, names)
	for _, n := range names { // --request-rate of other tools is --rate
		if strings.HasSuffix(given, "-"+n) {
			name = n
		}
	}
	if given == "num-prompts" && slices.Contains(names, "requests") { // of vllm bench serve
		name = "requests"
	}
	switch {
	case name != "":
		return fmt.Errorf("%w; did you mean --%s?", err, name)
	case cmd.Flags().Lookup("arg") != nil && len(given) > 1:
		return fmt.Errorf("%w; an argument of the servers is --arg %s=VALUE; %s --help lists the flags", err,
			strings.ReplaceAll(given, "-", "_"), cmd.CommandPath())
	}
	return fmt.Errorf("%w; %s --help lists the flags", err, cmd.CommandPath())
}

// nearCommand returns an error for an unknown command of a group, which cobra would answer with help and success.
func nearCommand(group *cobra.Command, args []string) error {
	if len(args) == 0 {
		return group.Help()
	}
	var names []string
	for _, c := range group.Commands() {
		names = append(names, c.Name())
	}
	if name := enum.Nearest(args[0], names); name != "" {
		return fmt.Errorf("unknown command %q for %q; did you mean %s?", args[0], group.CommandPath(), name)
	}
	return fmt.Errorf("unknown command %q for %q; %s --help lists them", args[0], group.CommandPath(), group.CommandPath())
}
