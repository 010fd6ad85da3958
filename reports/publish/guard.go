package publish

import (
	"fmt"
	"path"
	"runtime/debug"
	"strings"
)

// Guard publishes something and returns the warnings. It turns a panic into a warning, so that a fault in publishing
// never ends a measurement. A publisher must also use it in its own goroutines.
func Guard(publish func() []string) (warnings []string) {
	if err := Contained(func() error { warnings = publish(); return nil }); err != nil {
		warnings = append(warnings, "not everything was published: "+err.Error())
	}
	return warnings
}

// Contained returns a panic of do as an error.
func Contained(do func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("an error of this program: %v (%s)", broken, origin())
		}
	}()
	return do()
}

// origin returns the function and the line that panicked, as the stack of a recovering function shows it.
func origin() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") && i+3 < len(lines) {
			at, _, _ := strings.Cut(strings.TrimSpace(lines[i+3]), " ")
			return path.Base(path.Dir(at)) + "/" + path.Base(at)
		}
	}
	return "place unknown"
}
