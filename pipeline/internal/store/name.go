package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
)

// maxName is the largest length of a file name without extension.
const maxName = 120

// Name turns any text into a file name of letters, digits, dots, dashes and underscores. If that changes the
// text, it appends a short hash of the text.
func Name(text string) string {
	clean := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
			return c
		case c == '"' || c == ']':
			return -1
		}
		return '_'
	}, text)
	clean = strings.TrimLeft(clean, ".-")
	if len(clean) > maxName {
		clean = clean[:maxName]
	}
	if clean == text && clean != "" {
		return clean
	}
	sum := sha256.Sum256([]byte(text))
	return strings.TrimLeft(clean+"-"+hex.EncodeToString(sum[:3]), "-")
}

// RunID returns a run's ID, its start and 4 random bytes: "20260822-101112-1a2b3c4d".
func RunID(started time.Time, random io.Reader) (string, error) {
	var b [4]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("name the run: %w", err)
	}
	return started.UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b[:]), nil
}

// runsDir is the folder of runs without a given directory.
var runsDir = filepath.Join(".pipeline", "runs")

// DefaultPath returns the default directory of a run: .pipeline/runs/ID.
func DefaultPath(base, runID string) string { return filepath.Join(base, runsDir, runID) }

// LinkLatest points .pipeline/runs/latest to a run in its default directory.
func LinkLatest(base, runID string) error {
	link := filepath.Join(base, runsDir, "latest")
	if info, err := os.Lstat(link); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return fmt.Errorf("%s is not a link: remove it", link)
	}
	if err := renameio.Symlink(runID, link); err != nil {
		return fmt.Errorf("link the latest run: %w", err)
	}
	return nil
}
