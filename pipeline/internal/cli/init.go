package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// initFlags holds the flags of `pipeline init`; starters has one for each row of [allStarters].
type initFlags struct {
	ref               string
	cluster, rehearse bool
	from              []string
	starters          map[string]*bool
}

func (a *app) initCommand() *cobra.Command {
	f := initFlags{starters: map[string]*bool{}}
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a pipeline file to start from",
		Long: "Writes " + starterFile + ", which compares two images of a server, and with --github, --gitlab or --buildkite what runs\n" +
			"it for pull requests (on GitHub also every night). With --kubernetes it writes the Role alone that a run needs in its namespace.\n" +
			"With --from the file is made from what you have: it compares a base with a head of the servers and loads that are defined\n" +
			"there. What cannot be carried over is listed, and stands in the file as a comment. These forms are found by their shape:\n" +
			fromHelp() + "\nWhat is there already is kept.",
		Args: cobra.MaximumNArgs(1),
		RunE: interruptible(func(ctx context.Context, args []string) error { return a.init(ctx, f, append(args, ".")[0]) }),
	}
	cmd.Flags().StringVar(&f.ref, "action-ref", "", "`commit` or release of this program that the files of a service use (its own unless set)")
	cmd.Flags().BoolVar(&f.cluster, "kubernetes", false, "write "+roleFile+" alone, the Role that a run with a kubernetes block needs")
	for _, s := range allStarters() {
		f.starters[s.flag] = cmd.Flags().Bool(s.flag, false, s.doc)
		cmd.MarkFlagsMutuallyExclusive("kubernetes", s.flag)
	}
	cmd.Flags().StringArrayVar(&f.from, "from", nil, "make the file from this `source`: a file, - for the standard input, or a command line "+
		"in quotes; FORM=SOURCE names its form (repeatable: servers from one, loads from another)")
	cmd.MarkFlagsMutuallyExclusive("kubernetes", "from")
	cmd.Flags().BoolVar(&f.rehearse, "rehearse", false,
		"with --from: rehearse the file at once in virtual time, with a head that is 10 % slower")
	return cmd
}

// init writes the files of `pipeline init` into a folder.
func (a *app) init(ctx context.Context, f initFlags, dir string) error {
	adopts := len(f.from) > 0
	switch {
	case strings.HasSuffix(dir, ".hcl"):
		return exit(exitUsage, fmt.Errorf("init takes a folder, and writes %s into it: %s is the name of a file", starterFile, dir))
	case f.ref != "" && !actionRef.MatchString(f.ref):
		return exit(exitUsage,
			fmt.Errorf("--action-ref %q is neither a commit of 40 digits nor a release such as v1.2.3: anything else may be another program "+
				"tomorrow", f.ref))
	case f.rehearse && !adopts:
		return exit(exitUsage, errors.New("--rehearse needs --from: the file without a source rehearses by the command that init prints"))
	case f.cluster:
		return a.writeRole(dir)
	}
	if adopts {
		if err := a.adopt(dir, f.from); err != nil {
			return err
		}
	}
	starters := slices.DeleteFunc(allStarters(), func(s starter) bool { return !*f.starters[s.flag] })
	if !adopts || len(starters) > 0 {
		if err := a.start(dir, starters, cmp.Or(f.ref, ownRef()), !adopts); err != nil {
			return err
		}
	}
	switch {
	case f.rehearse:
		return a.rehearse(ctx, filepath.Join(dir, starterFile))
	case adopts && len(starters) == 0:
		return nil
	}
	_, err := fmt.Fprintf(a.Out, "\nTry it without a GPU, in a second: it finds a head that is 10 %% slower.\n\n    pipeline run %s "+
		"--simulate=virtual --var rehearsal=10%%\n", filepath.Join(dir, starterFile))
	for _, s := range starters {
		if err == nil {
			_, err = fmt.Fprintf(a.Out, "\n%s\n", s.next)
		}
	}
	return err
}

// start writes the pipeline file and the files of starters, unless they exist, and prints their paths.
func (a *app) start(dir string, starters []starter, ref string, noteKept bool) error {
	written, kept, err := writeStarters(dir, starters, ref)
	for _, path := range written {
		fmt.Fprintln(a.Out, path)
	}
	if _, refused := errors.AsType[*fs.PathError](err); refused {
		return exit(exitInfrastructure, err)
	}
	if err != nil {
		return exit(exitUsage, err)
	}
	for _, path := range kept {
		if noteKept {
			fmt.Fprintf(a.Err, "note: %s already exists and was not changed\n", path)
		}
	}
	if len(starters) > 0 && ref == "" {
		a.warn("this program was built without its commit, and the files name none: replace " + unpinned +
			" in them by the commit or the release of github.com/servegate/pipeline that they shall use, or write them with --action-ref")
	}
	return nil
}

const commitPattern = `^[0-9a-f]{40}$`

var (
	fullCommit = lazyregexp.New(commitPattern)
	release    = lazyregexp.New(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)
	actionRef  = lazyregexp.New(commitPattern + `|^v[0-9]+\.[0-9]+\.[0-9]+$`)
)

// ownRef returns the commit that this program was built from, or its release; "" if unknown.
func ownRef() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if rev := settings["vcs.revision"]; fullCommit.MatchString(rev) && settings["vcs.modified"] != "true" {
			return rev
		}
	}
	switch v := Version(); {
	case fullCommit.MatchString(v):
		return v
	case release.MatchString(v):
		return "v" + strings.TrimPrefix(v, "v")
	}
	return ""
}
