package github

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
)

// marker is the first line of our comments: the report and the run that wrote it.
type marker struct {
	key string // of the report, see keyOf
	run Run
	sha string
	// single marks a comment of mode New, which later runs do not touch.
	single bool
}

var markerLine = regexp.MustCompile(
	`^<!-- pipeline:report v1 key=([0-9a-f]{16}) run=([0-9]{1,18})\.([0-9]{1,9}) sha=([0-9a-f]{40,64})( single)? -->(?:\r?\n|$)`)

// keyOf hashes the name of a report to a key that distinguishes its comments.
func keyOf(name string) string {
	sum := sha256.Sum256([]byte("pipeline:report\x00" + name))
	return hex.EncodeToString(sum[:8])
}

func (m marker) String() string {
	single := ""
	if m.single {
		single = " single"
	}
	return fmt.Sprintf("<!-- pipeline:report v1 key=%s run=%d.%d sha=%s%s -->", m.key, m.run.ID, m.run.Attempt, m.sha, single)
}

// parseMarker reads the marker that a body starts with.
func parseMarker(body string) (marker, bool) {
	parts := markerLine.FindStringSubmatch(body)
	if parts == nil {
		return marker{}, false
	}
	id, _ := strconv.ParseInt(parts[2], 10, 64)
	attempt, _ := strconv.Atoi(parts[3])
	return marker{key: parts[1], run: Run{id, attempt}, sha: parts[4], single: parts[5] != ""}, true
}

// compare orders runs by age: run IDs only increase, attempts count within a run.
func (r Run) compare(other Run) int {
	return cmp.Or(cmp.Compare(r.ID, other.ID), cmp.Compare(r.Attempt, other.Attempt))
}
