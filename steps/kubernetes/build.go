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

// released reports whether a version names one source: a build from a changed or unknown tree has a version that
// others have as well.
func released(version string) bool {
	return version != "" && !strings.Contains(version, "devel") && !strings.Contains(version, "dirty")
}

// build identifies a program without such a version by its content.
type build struct {
	Platform string `json:"platform"`
	Sum      string `json:"sum"`
}

// buildOf reads a program. What cannot be read is no build.
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

// doubt says why a program in an image may be another than this one, although both have the same version; "" where
// it is the same.
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
