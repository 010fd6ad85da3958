package kubernetes

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// Labels and annotations of the run's objects.
const (
	managedLabel = "app.kubernetes.io/managed-by"
	managedBy    = "pipeline"
	runLabel     = "pipeline/run"
	roleLabel    = "pipeline/role"
	nameLabel    = "pipeline/name"
	ownerLabel   = "pipeline/owner"
	beatLabel    = "pipeline/beat"
	queueLabel   = "kueue.x-k8s.io/queue-name"
	queuedLabel  = "kueue.x-k8s.io/managed" // that Kueue sets
)

var (
	notInName  = lazyregexp.New(`[^a-z0-9]+`)
	labelValid = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
)

// maxName limits the readable part of an object's name, so that the name of a Pod, which is also its host
// name, stays below 63 characters.
const maxName = 36

// objectName converts any name to one that is unique among all objects of all runs.
func (r *Run) objectName(name string) string {
	slug := strings.Trim(notInName.ReplaceAllString(strings.ToLower(name), "-"), "-")
	slug = strings.Trim(slug[:min(len(slug), maxName)], "-")
	if slug == "" {
		slug = "server"
	}
	return "pipeline-" + slug + "-" + strings.ToLower(rand.Text()[:10])
}

// labelValue converts a text to a label value: the text itself, or its hash if it is not a valid one.
func labelValue(text string) string {
	if labelValid.MatchString(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + hex.EncodeToString(sum[:16])
}

// seconds rounds up, and is one at least: zero would leave a container to itself.
func seconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}
