package note

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// Run identifies an attempt of a run of a service's workflow or pipeline.
type Run struct {
	ID      int64
	Attempt int
}

// Marker is the first line of our comments: the report and the run that wrote it.
type Marker struct {
	Key string // of the report, see KeyOf
	Run Run
	SHA string
	// Single marks a comment of mode New, which later runs do not touch.
	Single bool
}

var markerLine = lazyregexp.New(
	`^<!-- pipeline:report v1 key=([0-9a-f]{16}) run=([0-9]{1,18})\.([0-9]{1,18}) sha=([0-9a-f]{40,64})( single)? -->(?:\r?\n|$)`)

// KeyOf hashes the name of a report to a key that distinguishes its comments.
func KeyOf(name string) string {
	sum := sha256.Sum256([]byte("pipeline:report\x00" + name))
	return hex.EncodeToString(sum[:8])
}

func (m Marker) String() string {
	single := ""
	if m.Single {
		single = " single"
	}
	return fmt.Sprintf("<!-- pipeline:report v1 key=%s run=%d.%d sha=%s%s -->", m.Key, m.Run.ID, m.Run.Attempt, m.SHA, single)
}

// ParseMarker reads the marker that a body starts with.
func ParseMarker(body string) (Marker, bool) {
	parts := markerLine.FindStringSubmatch(body)
	if parts == nil {
		return Marker{}, false
	}
	id, _ := strconv.ParseInt(parts[2], 10, 64)
	attempt, _ := strconv.Atoi(parts[3])
	return Marker{Key: parts[1], Run: Run{id, attempt}, SHA: parts[4], Single: parts[5] != ""}, true
}

// Compare orders runs by age: run IDs only increase, attempts count within a run.
func (r Run) Compare(other Run) int {
	return cmp.Or(cmp.Compare(r.ID, other.ID), cmp.Compare(r.Attempt, other.Attempt))
}

// Digest returns a short hash that distinguishes states, machines and the like.
func Digest(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "pipeline:issue\x00%q", parts))
	return hex.EncodeToString(sum[:8])
}
