package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/pipeline/internal/lang/syntax"
	"github.com/servegate/pipeline/pipeline/internal/regular"
	"github.com/spf13/cobra"
)

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

// readRegular reads a file up to one byte more than the parser accepts.
func readRegular(name string) ([]byte, error) {
	f, err := regular.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return io.ReadAll(io.LimitReader(f, syntax.MaxFileSize+1))
}

// formatFile formats one file; "-" formats standard input to standard output.
func (a *app) formatFile(name string, check, diff bool) (changed bool, err error) {
	var src []byte
	if name == "-" {
		src, err = io.ReadAll(a.In)
	} else {
		src, err = readRegular(name)
	}
	if err != nil {
		return false, err
	}
	sources, diags := syntax.Load([]string{name}, bytes.NewReader(src))
	if diags.HasErrors() {
		if err := diag.Text(a.Err, a.quotable(sources.Map()), diags, diag.Options{Color: a.color(), Width: a.Width()}); err != nil {
			return false, err
		}
		return false, fmt.Errorf("%s is left as it is: it does not parse", name)
	}
	if sources.Files[0].JSON != nil {
		return false, fmt.Errorf("%s is in the JSON syntax, which has no canonical style here; any formatter of JSON does", name)
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
		_, err = a.verbatim.Write(out)
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
