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
	// lockPoll is how often a lock that another run holds is tried again.
	lockPoll = time.Second
	// lockRemind is how often a run that waits says so again.
	lockRemind = time.Minute
)

// Locks keep what a run uses for itself while it lasts.
type Locks struct {
	Getenv func(string) string
	// RunID and File of the run, and its clock, show runs that wait who has a lock.
	RunID, File string
	Now         func() time.Time
	// Warn is given whom the run waits for, at once and again each minute.
	Warn func(text string)
}

// Named waits for the lock that a file asks for, so that one run at a time uses what it
// stands for; "" is none. A plain name is one of the machine: two checkouts of a file have
// it in common. A path is a file of its own, below dir unless it is absolute. The returned
// function releases the lock.
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

// hold waits for a lock file and writes into it who has it. The system releases it when
// the holder ends, however it does; the file stays, since another may wait for it. what
// is its name for people.
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
	_ = note(path, l.holder()) // for whoever waits next; without it the lock holds all the same
	return func() { _ = lock.Unlock() }, nil
}

// note writes into a lock file, which is there.
func note(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// await tries a lock until it is free, and says each minute whom it waits for.
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

// createLock makes a lock file that every user can open. One that is there is left: in a
// folder that all may write to, Linux refuses to open another user's file as if it
// were to be made.
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
	// Beyond what the umask left: the next run may be another user's.
	return errors.Join(f.Chmod(0o666), f.Close())
}

// holder names this run, for those who wait.
func (l Locks) holder() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return fmt.Sprintf("run %s, process %d of user %s, %s, since %s\n", l.RunID, os.Getpid(), name, l.File, l.Now().Format(time.RFC3339))
}

// maxHolder bounds what is read of who holds a lock.
const maxHolder = 400

// holder reads who wrote himself into a lock file. Anybody may have written there.
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
