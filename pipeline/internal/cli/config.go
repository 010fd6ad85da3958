package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/target"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps/secret"
	"github.com/spf13/cobra"
)

// configFlags holds the flags of every command that reads a pipeline.
type configFlags struct {
	vars     []string
	varFiles []string
	// gates are the patterns of --gate; empty keeps all gates.
	gates []string
	// stored holds the files that a stored run keeps beside its pipeline, nil otherwise; it has no flag.
	stored *config.Stored
	// text is a pipeline that the command wrote, nil otherwise; it has no flag.
	text *lang.Text
}

func (f *configFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.vars, "var", nil, "set a variable, `name=value` (repeatable)")
	cmd.Flags().StringArrayVar(&f.varFiles, "var-file", nil, "read variables from an HCL or JSON `file` (repeatable)")
}

// registerGates adds --gate, for the commands that judge or plan.
func (f *configFlags) registerGates(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.gates, "gate", nil,
		"keep only the gates whose name or address matches this `pattern`, and the benchmarks that they are about (repeatable)")
}

// leftOut names the gates that --gate left out, for the reports.
func leftOut(cfg *lang.Config) []string {
	if len(cfg.LeftOut) == 0 {
		return nil
	}
	return []string{"not selected by --gate, and not judged: " + strings.Join(cfg.LeftOut, ", ")}
}

// load reads a pipeline and prints its diagnostics. It returns an error if the pipeline is unusable.
func (a *app) load(f configFlags, paths []string) (*lang.Config, error) {
	cfg, diags, err := a.read(f, paths)
	if err != nil {
		return nil, err
	}
	return cfg, a.report(cfg, diags)
}

// read reads a pipeline. It returns an error for wrong flags.
func (a *app) read(f configFlags, paths []string) (*lang.Config, hcl.Diagnostics, error) {
	vars, err := splitVars(f.vars)
	if err != nil {
		return nil, nil, exit(exitUsage, err)
	}
	for _, v := range vars {
		a.redact.Learn(secret.Values(v.Name, v.Text)...)
	}
	registry, err := a.kinds()
	if err != nil {
		return nil, nil, exit(exitUsage, err)
	}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	cfg, diags := lang.Load(lang.Options{
		Paths: paths, Stdin: a.In, Vars: vars, VarFiles: f.varFiles, Env: a.Environ, Registry: registry,
		Datasets: a.datasets, Arrivals: a.arrivals, Formats: a.formats.OfDocuments().Names(), Tests: a.tests,
		Version: Version(), Stored: f.stored, Text: f.text,
	})
	if cfg != nil {
		a.redact.Learn(cfg.Secrets...)
	}
	if cfg != nil && !diags.HasErrors() {
		if err := cfg.SelectGates(f.gates); err != nil {
			return nil, nil, exit(exitUsage, err)
		}
		diags = append(diags, target.Validate(a.places, cfg.Config, a.engines(), a.connectors)...)
	}
	return cfg, diags, nil
}

// report prints diagnostics, if any, and returns an exit error if they contain errors.
func (a *app) report(cfg *lang.Config, diags hcl.Diagnostics) error {
	if len(diags) == 0 {
		return nil
	}
	if err := diag.Text(a.Err, a.sources(cfg), diags, diag.Options{Color: a.color(), Width: a.Width(), Origin: a.origin}); err != nil {
		return exit(exitInfrastructure, err)
	}
	if diags.HasErrors() {
		return exit(exitUsage, nil)
	}
	return nil
}

// sources returns the source of a pipeline as messages may quote it.
func (a *app) sources(cfg *lang.Config) map[string]*hcl.File {
	if cfg == nil || cfg.Sources == nil {
		return nil
	}
	return a.quotable(cfg.Sources.Map())
}

// quotable returns files with their secrets masked. The places of everything else stay. A message cuts the lines that
// it quotes to the width of the terminal, and a part of a secret would not be found later. Secrets of arguments that
// could not be evaluated are not known yet, so they are found by the form of the line.
func (a *app) quotable(files map[string]*hcl.File) map[string]*hcl.File {
	out := map[string]*hcl.File{}
	for name, file := range files {
		quoted := *file
		var text []byte
		for line := range bytes.Lines(file.Bytes) {
			text = append(text, a.maskInPlace(line)...)
		}
		quoted.Bytes = text
		out[name] = &quoted
	}
	return out
}

// maskInPlace masks the secrets of a line without changing its length.
func (a *app) maskInPlace(line []byte) []byte {
	for _, found := range secret.Within(string(line)) {
		line = bytes.ReplaceAll(line, []byte(found), filler(len(found)))
	}
	masked := a.redact.Bytes(line)
	if bytes.Equal(masked, line) {
		return line
	}
	short := min(len(line), len(masked))
	from, behind := 0, 0
	for from < short && line[from] == masked[from] {
		from++
	}
	for behind < short-from && line[len(line)-1-behind] == masked[len(masked)-1-behind] {
		behind++
	}
	to := len(line) - behind
	return slices.Concat(line[:from], filler(to-from), line[to:])
}

// filler returns a mask of n bytes.
func filler(n int) []byte {
	if n < len(event.Mask) {
		return bytes.Repeat([]byte("*"), n)
	}
	return append([]byte(event.Mask), bytes.Repeat([]byte("*"), n-len(event.Mask))...)
}

func splitVars(texts []string) ([]lang.VarArg, error) {
	var out []lang.VarArg
	for i, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || !hclsyntax.ValidIdentifier(name) {
			// It may be a line of a secret, so it is not quoted.
			return nil, fmt.Errorf("--var number %d (%d characters) is not of the form name=value; a value of several lines belongs in a "+
				"--var-file or in PIPELINE_VAR_NAME", i+1, utf8.RuneCountInString(text))
		}
		out = append(out, lang.VarArg{Name: name, Text: value, Origin: "--var"})
	}
	return out, nil
}

func (a *app) validateCommand() *cobra.Command {
	var flags configFlags
	var asJSON, allowIdentical bool
	cmd := &cobra.Command{
		Use:   "validate [FILE|DIR]...",
		Short: "Check a pipeline without starting anything",
		Long: "Checks syntax, names, references, types, units and whether the gates can decide at all.\nStarts nothing and needs no GPU, no " +
			"Docker and no network.",
		RunE: func(_ *cobra.Command, args []string) error {
			if asJSON {
				return a.validateJSON(flags, allowIdentical, args)
			}
			cfg, p, diags, err := a.check(flags, allowIdentical, args)
			if err != nil {
				return err
			}
			if err := a.report(cfg, diags); err != nil {
				return err
			}
			for _, s := range p.Sides {
				fmt.Fprintf(a.Out, "%s: %s\n", escape.Line(s.Title(), 200), escape.Line(strings.Join(s.Lines(), "; "), 1000))
			}
			_, err = fmt.Fprintln(a.Out, "valid: "+contents(cfg))
			return err
		},
	}
	flags.register(cmd)
	allowIdenticalFlag(cmd, &allowIdentical)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the diagnostics as JSON")
	return cmd
}

// check reads a pipeline and plans it. The plan is nil if the diagnostics of reading it have errors.
func (a *app) check(flags configFlags, allowIdentical bool, paths []string) (*lang.Config, *plan.Plan, hcl.Diagnostics, error) {
	cfg, diags, err := a.read(flags, paths)
	if err != nil || diags.HasErrors() {
		return cfg, nil, diags, err
	}
	p, refused, err := a.buildPlan(cfg, planFlags{timeScale: 1, allowIdentical: allowIdentical, anySimulation: true}, paths)
	if err != nil {
		return cfg, nil, diags, exit(exitUsage, err)
	}
	diags = append(append(diags, refused...), target.ValidateSimulation(cfg.Config, a.engines(), a.connectors)...)
	return cfg, p, diags, nil
}

// contents counts what a file declares: "2 servers, 1 benchmark, 1 gate".
func contents(cfg *lang.Config) string {
	var parts []string
	for _, c := range []struct {
		n    int
		noun string
	}{
		{len(cfg.Servers), "server"}, {len(cfg.Deployments), "deployment"}, {len(cfg.Benchmarks), "benchmark"}, {len(cfg.Gates), "gate"},
	} {
		if c.n > 0 {
			parts = append(parts, humanize.Count(c.n, c.noun))
		}
	}
	return strings.Join(parts, ", ")
}

func (a *app) validateJSON(flags configFlags, allowIdentical bool, paths []string) error {
	cfg, _, diags, err := a.check(flags, allowIdentical, paths)
	if err != nil {
		return err
	}
	if err := diag.JSON(a.Out, a.sources(cfg), diags); err != nil {
		return exit(exitInfrastructure, err)
	}
	if diags.HasErrors() {
		return exit(exitUsage, nil)
	}
	return nil
}
