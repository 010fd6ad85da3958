package kubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// released reports whether a version identifies one source. Builds from a changed or unknown tree share their
// version.
func released(version string) bool {
	return version != "" && !strings.Contains(version, "devel") && !strings.Contains(version, "dirty")
}

// build identifies a program whose version is ambiguous by its content.
type build struct {
	Platform string `json:"platform"`
	Sum      string `json:"sum"`
}

// buildOf returns the build of a program. It returns the zero build if the file cannot be read.
func buildOf(path string) (build, error) {
	file, err := os.Open(path)
	if err != nil {
		return build{}, err
	}
	defer func() { _ = file.Close() }() // opened for reading
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return build{}, err
	}
	return build{runtime.GOOS + "/" + runtime.GOARCH, hex.EncodeToString(sum.Sum(nil))}, nil
}

// doubt returns why a program in an image may differ from this one although both have the same version, or ""
// if they are equal.
func doubt(image, version string, theirs, ours build) string {
	if released(version) || theirs == ours {
		return ""
	}
	why := "its content is another"
	if theirs.Platform != ours.Platform {
		why = fmt.Sprintf("it is built for %s, and this one for %s", theirs.Platform, ours.Platform)
	}
	return fmt.Sprintf("whether image %s has this program cannot be told: both have the version %q, which many builds have, and %s; build "+
		"both from a tagged commit", image, version, why)
}
