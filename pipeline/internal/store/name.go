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

// maxName bounds a file's name without its ending.
const maxName = 120

// Name turns any text into the name of a file: letters, digits, dot, dash and underscore.
// Where that changes the text, a short hash of the text keeps different ones apart.
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

// RunID names a run by its start and 4 random bytes: "20260822-101112-1a2b3c4d".
func RunID(started time.Time, random io.Reader) (string, error) {
	var b [4]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("name the run: %w", err)
	}
	return started.UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b[:]), nil
}

// runsDir is where runs go that were given no directory.
var runsDir = filepath.Join(".pipeline", "runs")

// DefaultPath is where a run goes that was given no directory: .pipeline/runs/ID.
func DefaultPath(base, runID string) string { return filepath.Join(base, runsDir, runID) }

// LinkLatest points .pipeline/runs/latest at a run in its default place.
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
