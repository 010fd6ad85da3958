package spawn

import (
	"errors"
	"os"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// ProgramFolder begins the path of the folder that a program makes for what it writes. 16 hexadecimal digits follow. The
// program removes its folder itself, but not if it is killed.
const ProgramFolder = "/tmp/pipeline-offline-"

var programFolder = lazyregexp.New(`^/tmp/pipeline-offline-[0-9a-f]{16}`)

// Orphan is a process that an instance of this program started and left behind.
type Orphan struct {
	PID int
	// StartTime, in clock ticks since boot, distinguishes it from a later process with the same number.
	StartTime uint64
	Argv      []string
	// Owner is the instance that started it, as returned by [Owner].
	Owner string
}

// Command returns the command line, or the title that the process gave itself.
func (o Orphan) Command() string { return strings.TrimRight(strings.Join(o.Argv, " "), " ") }

// removeFolders removes the folders of programs that were killed, which their command lines name.
func removeFolders(killed []Orphan) error {
	var errs []error
	for _, o := range killed {
		for _, word := range o.Argv {
			if folder := programFolder.FindString(word); folder != "" {
				errs = append(errs, os.RemoveAll(folder))
			}
		}
	}
	return errors.Join(errs...)
}
