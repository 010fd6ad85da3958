package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/git"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/pipeline/internal/trends"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/bisection"
	"github.com/servegate/pipeline/reports/site"
	"github.com/spf13/cobra"
)

// siteCommand writes static pages of a history.
func (a *app) siteCommand() *cobra.Command {
	var f trendFlags
	var out string
	var add []string
	cmd := &cobra.Command{
		Use: "site", Short: "Write pages of the history: series, runs, machines, gates", Args: cobra.NoArgs,
		Long: "Writes index.html, which says how many series have regressed now, where and since when, a page for each series, run\n" +
			"and kind of machine, and gates.html: how often each gate was right, and which advisory gate may become a required\n" +
			"one. The pages need no server and no network. With --add, the reports of run directories and of\n" +
			"bisect.json files are among them; reports that an earlier call has written stay, so that each night adds its own.",
		RunE: interruptible(func(ctx context.Context, _ []string) error { return a.site(ctx, f, out, add) }),
	}
	f.register(cmd)
	cmd.Flags().StringVarP(&out, "out", "o", "site", "write the pages into this `directory`")
	cmd.Flags().StringArrayVar(&add, "add", nil, "add the report of this run directory, results.json or bisect.json `path` (repeatable)")
	return cmd
}

func (a *app) site(ctx context.Context, f trendFlags, out string, add []string) error {
	q, err := f.query()
	if err != nil {
		return exit(exitUsage, err)
	}
	h, err := a.readHistory(ctx, f.history)
	if err != nil {
		return err
	}
	judged, err := trends.Of(h, q)
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	pages := trends.Site(h, judged, q)
	w := siteWriter{a, out}
	for _, p := range add {
		if err := w.add(pages, p); err != nil {
			return exit(exitUsage, err)
		}
	}
	for i := range pages.Runs {
		pages.Runs[i].Report = exists(filepath.Join(out, filepath.FromSlash(site.ReportPath(pages.Runs[i].ID))))
	}
	pages.Authors = a.authors(ctx)
	n := 0
	for p := range pages.Pages() {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := w.write(p.Path, p.Write); err != nil {
			return exit(exitInfrastructure, err)
		}
		n++
	}
	_, err = fmt.Fprintf(a.Out, "wrote %d pages: %s\n", n, filepath.Join(out, "index.html"))
	return err
}

// authors returns a function that asks git in the present folder for authors of commits. It knows none where git or the
// commits are missing.
func (a *app) authors(ctx context.Context) func(good, bad string) []string {
	return func(good, bad string) []string {
		sp := spawn.New(spawn.Options{Environ: a.Environ()})
		defer sp.Close()
		out, err := git.Repo{Spawner: sp, Dir: "."}.Run(ctx, "log", "--format=%aN", "--end-of-options", good+".."+bad)
		if err != nil {
			return nil
		}
		var names []string
		for name := range strings.Lines(string(out)) {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names
	}
}

// siteWriter writes the pages of a site into a folder.
type siteWriter struct {
	a   *app
	out string
}

// write writes a page atomically, with secrets masked.
func (w siteWriter) write(name string, page func(io.Writer) error) error {
	name = filepath.Join(w.out, filepath.FromSlash(path.Clean("/"+name)))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("writing the pages: %w", err)
	}
	if err := store.WriteFile(name, w.a.redact, page); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// add adds the report of a run, or of a search for a commit.
func (w siteWriter) add(s *site.Site, name string) error {
	if filepath.Base(name) == "bisect.json" {
		return addAnswer(s, name)
	}
	if filepath.Base(name) == store.ResultsFile {
		name = filepath.Dir(name)
	}
	doc, err := store.ReadDocument(name)
	if err != nil {
		return err
	}
	return w.write(site.ReportPath(doc.RunID), func(out io.Writer) error { return reports.HTML(out, doc, reports.Options{}) })
}

// addAnswer adds a search for a commit, with the time of its file.
func addAnswer(s *site.Site, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var doc bisection.Document
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	s.Answers = append(s.Answers, site.Answer{Name: filepath.Base(filepath.Dir(name)), Time: info.ModTime(), Doc: &doc})
	return nil
}
