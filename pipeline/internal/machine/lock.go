package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gofrs/flock"
)

const (
	// lockPoll is the interval between attempts to take a lock held by another run.
	lockPoll = time.Second
	// lockRemind is the interval between warnings while a run waits.
	lockRemind = time.Minute
)

// Locks reserve resources for the duration of a run.
type Locks struct {
	Getenv func(string) string
	// RunID and File, with the time, show waiting runs who holds a lock.
	RunID, File string
	Now         func() time.Time
	// Warn is told whom the run waits for, at once and again each minute.
	Warn func(text string)
}

// Named waits for the lock that a file asks for, so that one run at a time uses the resource; "" means none. A
// plain name is a lock of the machine, shared by all checkouts of a file. A path is a lock file, relative to
// dir. The returned function releases the lock.
func (l Locks) Named(ctx context.Context, name, dir string) (func(), error) {
	switch {
	case name == "":
		return func() {}, nil
	case !strings.ContainsRune(name, filepath.Separator):
		locks, err := LockDir(l.Getenv)
		if err != nil {
			return nil, err
		}
		return l.hold(ctx, "the lock "+name, filepath.Join(locks, "named-"+name))
	case !filepath.IsAbs(name):
		name = filepath.Join(dir, name)
	}
	return l.hold(ctx, "the lock "+name, name)
}

// hold waits for a lock file and writes the holder into it. The system releases the lock when the holder ends
// in any way. The file remains, because another run may wait for it. what is its name for people.
func (l Locks) hold(ctx context.Context, what, path string) (func(), error) {
	if err := createLock(path); err != nil {
		return nil, fmt.Errorf("taking %s: %w", what, err)
	}
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	held, err := lock.TryLock()
	if err == nil && !held {
		err = l.await(ctx, lock, what)
	}
	if err != nil {
		return nil, fmt.Errorf("taking %s: %w", what, err)
	}
	_ = note(path, l.holder()) // informs waiting runs; an error does no harm
	return func() { _ = lock.Unlock() }, nil
}

// note writes into an existing lock file.
func note(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// await retries a lock until it is free, and warns each minute whom it waits for.
func (l Locks) await(ctx context.Context, lock *flock.Flock, what string) error {
	for {
		l.Warn(fmt.Sprintf("waiting for %s, held by %s", what, holder(lock.Path())))
		attempt, cancel := context.WithTimeout(ctx, lockRemind)
		held, err := lock.TryLockContext(attempt, lockPoll)
		cancel()
		switch {
		case held:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		}
	}
}

// createLock creates a lock file that every user can open. It leaves an existing file alone: in a
// world-writable folder, Linux refuses to open another user's file with O_CREATE.
func createLock(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file; remove it", path)
		}
		return nil
	}
	if err != nil {
		return err
	}
	// Regardless of the umask, because the next run may be another user's.
	return errors.Join(f.Chmod(0o666), f.Close())
}

// holder describes this run for waiting runs.
func (l Locks) holder() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("run %s, process %d of user %s, %s, since %s\n", l.RunID, os.Getpid(), name, l.File, l.Now().Format(time.RFC3339))
}

// maxHolder is the largest holder text that is read, in bytes.
const maxHolder = 400

// holder reads the holder's description from a lock file. Its content is untrusted.
func holder(path string) string {
	text, err := os.ReadFile(path)
	if err != nil || len(text) > maxHolder {
		return "another run"
	}
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(text), ""))
	if clean = strings.TrimSpace(clean); clean == "" {
		return "another run"
	}
	return clean
}
