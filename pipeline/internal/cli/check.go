package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/lang/function"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/spf13/cobra"
)

func (a *app) validateCommand() *cobra.Command {
	var flags configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate [FILE|DIR]...",
		Short: "Check a pipeline without starting anything",
		Long:  "Checks syntax, names, references, types, units and whether the gates can decide at all.\nStarts nothing and needs no GPU, no Docker and no network.",
		RunE: func(_ *cobra.Command, args []string) error {
			if asJSON {
				return a.validateJSON(flags, args)
			}
			cfg, err := a.load(flags, args)
			if err != nil {
				return err
			}
			if _, err := a.plan(cfg, planFlags{timeScale: 1}, args); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "valid: %d servers, %d benchmarks, %d gates\n", len(cfg.Servers), len(cfg.Benchmarks), len(cfg.Gates))
			return err
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the diagnostics as JSON")
	return cmd
}

func (a *app) validateJSON(flags configFlags, paths []string) error {
	cfg, diags, err := a.read(flags, paths)
	if err != nil {
		return err
	}
	if !diags.HasErrors() {
		_, refused := plan.Build(cfg, plan.Options{TimeScale: 1, Argv: argv(false), Launch: session.Launch(engines(), "", 1)})
		diags = append(diags, refused...)
	}
	if err := diag.JSON(a.Out, sources(cfg), diags); err != nil {
		return exit(exitInfrastructure, err)
	}
	if diags.HasErrors() {
		return exit(exitUsage, nil)
	}
	return nil
}

func (a *app) planCommand() *cobra.Command {
	var flags configFlags
	var options planFlags
	var place historyFlag
	var asJSON, launch bool
	cmd := &cobra.Command{
		Use:   "plan [FILE|DIR]...",
		Short: "Show what would be launched, measured and decided, and what it costs",
		RunE: interruptible(func(ctx context.Context, args []string) error {
			cfg, err := a.load(flags, args)
			if err != nil {
				return err
			}
			past, err := a.past(ctx, place, cfg)
			if err != nil {
				return err
			}
			options.noise = a.noise(ctx, past, options)
			p, err := a.plan(cfg, options, args)
			if err != nil {
				return err
			}
			if asJSON {
				return a.writeJSON(p)
			}
			if launch {
				return p.WriteLaunch(a.Out)
			}
			return p.WriteText(a.Out)
		}),
	}
	flags.register(cmd)
	place.register(cmd)
	options.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the plan as JSON")
	cmd.Flags().BoolVar(&launch, "launch", false, "print how every process of every target is started: command line, environment, files, order")
	return cmd
}

func (a *app) graphCommand() *cobra.Command {
	var flags configFlags
	var format string
	cmd := &cobra.Command{
		Use:   "graph [FILE|DIR]...",
		Short: "Print what needs what, for Graphviz or Mermaid",
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := a.load(flags, args)
			if err != nil {
				return err
			}
			switch format {
			case "dot":
				return plan.WriteDOT(a.Out, cfg)
			case "mermaid":
				return plan.WriteMermaid(a.Out, cfg)
			default:
				return exit(exitUsage, fmt.Errorf("--format %q is neither dot nor mermaid", format))
			}
		},
	}
	flags.register(cmd)
	cmd.Flags().StringVar(&format, "format", "dot", "`dot` or mermaid")
	return cmd
}

func (a *app) schemaCommand() *cobra.Command {
	var functions bool
	cmd := &cobra.Command{
		Use: "schema", Short: "Print the language's blocks and arguments, or its functions, as JSON", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			registry, err := kinds()
			if err != nil {
				return exit(exitUsage, err)
			}
			if functions {
				return a.writeJSON(function.Docs())
			}
			return a.writeJSON(lang.Schema(registry))
		},
	}
	cmd.Flags().BoolVar(&functions, "functions", false, "print the functions instead of the blocks")
	cmd.Flags().Bool("json", true, "print JSON (the only form there is)")
	return cmd
}

func (a *app) fmtCommand() *cobra.Command {
	var check, diff bool
	cmd := &cobra.Command{
		Use:   "fmt [FILE|DIR|-]...",
		Short: "Rewrite pipeline files in the canonical style",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			return a.format(args, check, diff)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 3 if a file is not in the canonical style")
	cmd.Flags().BoolVar(&diff, "diff", false, "print what changes")
	return cmd
}

func (a *app) format(args []string, check, diff bool) error {
	changed := false
	for _, arg := range args {
		files, err := pipelineFiles(arg)
		if err != nil {
			return exit(exitUsage, err)
		}
		for _, name := range files {
			did, err := a.formatFile(name, check, diff)
			if err != nil {
				return exit(exitUsage, err)
			}
			changed = changed || did
		}
	}
	if check && changed {
		return exit(exitUsage, nil)
	}
	return nil
}

// formatFile formats one file, or standard input onto standard output for "-".
func (a *app) formatFile(name string, check, diff bool) (changed bool, err error) {
	var src []byte
	if name == "-" {
		src, err = io.ReadAll(a.In)
	} else {
		src, err = os.ReadFile(name)
	}
	if err != nil {
		return false, err
	}
	sources, diags := syntax.Load([]string{name}, bytes.NewReader(src))
	if diags.HasErrors() {
		if err := diag.Text(a.Err, sources.Map(), diags, diag.Options{Color: a.color(), Width: a.Width()}); err != nil {
			return false, err
		}
		return false, fmt.Errorf("%s is left as it is: it does not parse", name)
	}
	out := syntax.Format(src)
	changed = !bytes.Equal(src, out)
	switch {
	case changed && diff:
		fmt.Fprint(a.Out, syntax.Diff(name, src, out))
	case changed && name != "-":
		fmt.Fprintln(a.Out, name)
	}
	if name == "-" && !check && !diff {
		_, err = a.Out.Write(out)
	} else if changed && !check && name != "-" {
		err = renameio.WriteFile(name, out, 0o644, renameio.WithExistingPermissions())
	}
	return changed, err
}

// pipelineFiles lists the HCL files that an argument names.
func pipelineFiles(arg string) ([]string, error) {
	if arg == "-" {
		return []string{arg}, nil
	}
	info, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{arg}, nil
	}
	var files []string
	err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".hcl") {
			files = append(files, path)
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = errors.New("no .hcl file below " + arg)
	}
	return files, err
}
