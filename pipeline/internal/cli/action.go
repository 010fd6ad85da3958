package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// actionCommand is what action.yml starts. Its inputs come as environment variables, so
// that nothing a pull request can write is ever part of a script.
func (a *app) actionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "action", Short: "Run as a GitHub Action: inputs from PIPELINE_ACTION_*", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			args := []string{"run", "--progress", "plain"}
			out := a.Getenv("PIPELINE_ACTION_RESULTS")
			if out != "" {
				args = append(args, "--out", out)
			}
			for _, v := range lines(a.Getenv("PIPELINE_ACTION_VARS")) {
				args = append(args, "--var", v)
			}
			args = append(args, lines(a.Getenv("PIPELINE_ACTION_ARGS"))...)
			file := a.Getenv("PIPELINE_ACTION_FILE")
			if file == "" {
				return exit(exitUsage, errors.New("the input file is empty"))
			}
			before, _ := session.ReadDocument(out) // mostly there is none
			code := a.runAs(cmd.Context(), append(args, "--", file))
			if err := a.outputs(out, code, before); err != nil {
				// Outputs are best effort: the verdict alone sets the exit code.
				fmt.Fprintf(a.Err, "::warning::outputs were not written: %v\n", err)
			}
			return exit(code, nil)
		},
	}
}

// runAs runs another command of this program under the same context.
func (a *app) runAs(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	return a.exitCode(root.ExecuteContext(ctx))
}

// outputs writes the action's outputs to the file that the runner names, if it does. A
// result that was there before is not this run's: a run that was refused has no verdict.
func (a *app) outputs(dir string, code int, before *result.Document) error {
	path := a.Getenv("GITHUB_OUTPUT")
	if path == "" {
		return nil
	}
	values := [][2]string{{"exit-code", strconv.Itoa(code)}, {"results", dir}, {"report-path", ""}, {"verdict", ""}}
	if doc, err := session.ReadDocument(dir); err == nil && (before == nil || !doc.Ended.Equal(before.Ended)) {
		values[2][1], values[3][1] = filepath.Join(dir, "report.md"), string(doc.Verdict)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, v := range values {
		// The form with a random delimiter takes any text.
		mark := delimiter()
		if _, err := fmt.Fprintf(f, "%s<<%s\n%s\n%s\n", v[0], mark, v[1], mark); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

func delimiter() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return "EOF_" + hex.EncodeToString(b[:])
}

func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
