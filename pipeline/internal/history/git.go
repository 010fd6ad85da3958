package history

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/git"
	"github.com/servegate/pipeline/pipeline/internal/scratch"
	"github.com/servegate/pipeline/steps"
)

const (
	// pushes is the number of attempts while others push too. Each failure means that another
	// writer succeeded.
	pushes = 40
	// maxRefusals is the number of refusals in a row that count as a lock of another process.
	maxRefusals = 4
)

// gitStore stores records on a branch of a remote repository without common history with the code:
// an orphan, which a clone of the code does not fetch. Objects are made in a local repository
// without a checkout, and none of its branches changes.
type gitStore struct {
	repo           git.Repo // the local one
	remote, branch string
	scratch        *scratch.Folder // for index files, and for a repository if there is none
}

func openGit(ctx context.Context, remote, branch string, opt Options) (_ Store, err error) {
	if strings.HasPrefix(remote, "-") || strings.HasPrefix(branch, "-") {
		return nil, fmt.Errorf("history git:%s#%s: a name cannot begin with a dash", remote, branch)
	}
	g := &gitStore{remote: remote, branch: branch}
	if g.scratch, err = scratch.New(scratch.History); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	g.repo = repo(opt.Spawner, cmp.Or(opt.Dir, "."), g.scratch.Path)
	if _, err := g.repo.Run(ctx, "check-ref-format", "--branch", branch); err != nil {
		return nil, fmt.Errorf("history: invalid branch name %q: %w", branch, err)
	}
	if _, err := g.repo.Run(ctx, "remote", "get-url", remote); err == nil {
		return g, nil // a remote of the present repository, with its credentials
	}
	if !filepath.IsAbs(remote) && !strings.Contains(remote, ":") {
		if g.remote, err = filepath.Abs(filepath.Join(g.repo.Dir, remote)); err != nil {
			return nil, err
		}
	}
	g.repo.Dir = g.scratch.Path
	if _, err := g.repo.Run(ctx, "init", "--quiet", "--bare", g.scratch.Path); err != nil {
		return nil, err
	}
	return g, nil
}

// Append adds a commit with the file to the branch. If another writer was faster, it repeats the
// commit on top of theirs. The files differ, so nothing is lost and nothing needs merging.
func (g *gitStore) Append(ctx context.Context, name string, content []byte) error {
	blob, err := g.blob(ctx, content)
	if err != nil {
		return err
	}
	var pushed error
	refused := 0 // in a row, while no other writer was faster
	for try := range pushes {
		tip, err := g.fetch(ctx)
		if err != nil {
			return err
		}
		commit, err := g.commit(ctx, tip, name, blob)
		if err != nil {
			if errors.Is(err, ErrExists) && pushed != nil && g.holds(ctx, tip, name, blob) {
				return nil // an earlier push succeeded, and its answer was lost
			}
			return err
		}
		if _, pushed = g.repo.Run(ctx, "push", "--quiet", g.remote, commit+":refs/heads/"+g.branch); pushed == nil {
			return nil
		}
		now, err := g.fetch(ctx)
		if err != nil {
			return errors.Join(pushed, err)
		}
		if refused++; now != tip {
			refused = 0
		}
		if refused > maxRefusals {
			break // refused for another reason than another writer
		}
		if err := pause(ctx, time.Duration(rand.Int64N(int64(min(try+1, 10))*int64(50*time.Millisecond)))); err != nil {
			return err
		}
	}
	return fmt.Errorf("history: pushing to %s of %s: %w", g.branch, g.remote, pushed)
}

// pause gives other writers time.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// blob stores the content and returns its name.
func (g *gitStore) blob(ctx context.Context, content []byte) (string, error) {
	file := filepath.Join(g.scratch.Path, "record")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return "", err
	}
	return g.repo.Line(ctx, "hash-object", "-w", "--no-filters", "--", file)
}

// fetch returns the newest commit of the branch, "" if there is no branch yet.
func (g *gitStore) fetch(ctx context.Context) (tip string, err error) {
	listed, err := g.repo.Line(ctx, "ls-remote", g.remote, "refs/heads/"+g.branch)
	if err != nil {
		return "", fmt.Errorf("history: %w", err)
	}
	tip, _, found := strings.Cut(listed, "\t")
	if !found {
		return "", nil
	}
	// Without a refmap git does not touch the remote-tracking branch, which another writer in this
	// clone may be updating.
	_, err = g.repo.Run(ctx, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", g.remote, "refs/heads/"+g.branch)
	return tip, err
}

// commit makes a commit of the tip's files and the new one.
func (g *gitStore) commit(ctx context.Context, tip, name, blob string) (string, error) {
	if tip != "" {
		if there, err := g.repo.Line(ctx, "ls-tree", "--name-only", tip, "--", path.Join(folder, name)); err != nil || there != "" {
			return "", errors.Join(err, fmt.Errorf("%s: %w", name, ErrExists))
		}
	}
	load := []string{"read-tree", "--empty"}
	if tip != "" {
		load = []string{"read-tree", tip}
	}
	if _, err := g.repo.Run(ctx, load...); err != nil {
		return "", err
	}
	if _, err := g.repo.Run(ctx, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+path.Join(folder, name)); err != nil {
		return "", err
	}
	tree, err := g.repo.Line(ctx, "write-tree")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree, "-m", "Add " + name}
	if tip != "" {
		args = append(args, "-p", tip)
	}
	return g.repo.Line(ctx, args...)
}

// holds reports whether a commit has a record with the content of the blob.
func (g *gitStore) holds(ctx context.Context, commit, name, blob string) bool {
	there, err := g.repo.Line(ctx, "rev-parse", "--verify", "--quiet", commit+":"+path.Join(folder, name))
	return err == nil && there == blob
}

// Read reads all records of the branch at once.
func (g *gitStore) Read(ctx context.Context) ([]File, error) {
	tip, err := g.fetch(ctx)
	if err != nil || tip == "" {
		return nil, err
	}
	if there, err := g.repo.Line(ctx, "ls-tree", "--name-only", tip, "--", folder); err != nil || there == "" {
		return nil, err
	}
	archive, err := g.repo.Run(ctx, "archive", "--format=tar", tip, "--", folder)
	if err != nil {
		return nil, err
	}
	var out []File
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("history: reading %s: %w", g.branch, err)
		}
		dir, name := path.Split(head.Name)
		if path.Clean(dir) != folder || !isRecord(name) {
			continue
		}
		f := File{Name: name}
		if head.Typeflag == tar.TypeReg {
			f.Content, f.Err = bounded(r)
		} else {
			f.Err = errors.New("it is not a regular file")
		}
		out = append(out, f)
	}
}

// Close removes the temporary files on this machine.
func (g *gitStore) Close() error { return g.scratch.Remove() }

// repo returns a repository with a separate index and a fixed author.
func repo(sp steps.Spawner, dir, temp string) git.Repo {
	return git.Repo{Spawner: sp, Dir: dir, Env: []steps.EnvVar{
		{Name: "GIT_INDEX_FILE", Value: filepath.Join(temp, "index")},
		{Name: "GIT_AUTHOR_NAME", Value: "pipeline"}, {Name: "GIT_AUTHOR_EMAIL", Value: "pipeline@localhost"},
		{Name: "GIT_COMMITTER_NAME", Value: "pipeline"}, {Name: "GIT_COMMITTER_EMAIL", Value: "pipeline@localhost"},
	}}
}
