package probe

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/servegate/pipeline/steps"
)

const (
	smiTimeout = 20 * time.Second // without persistence mode the driver loads first
	maxOutput  = 1 << 20
)

// errNotStarted says that a program is not there, which no other question to it changes.
var errNotStarted = errors.New("it cannot be started")

// run returns the output of a program that ended well within the timeout.
func run(ctx context.Context, sp steps.Spawner, argv ...string) ([]byte, error) {
	if sp == nil {
		return nil, errors.Join(errNotStarted, errors.New("no spawner"))
	}
	ctx, cancel := context.WithTimeout(ctx, smiTimeout)
	defer cancel()
	var out limitedBuffer
	child, err := sp.Spawn(ctx, steps.Command{Argv: argv, Stdout: &out})
	if err != nil {
		return nil, errors.Join(errNotStarted, err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		if err := child.Signal("KILL"); err != nil {
			return nil, err // it is left to the spawner's own end
		}
		<-child.Done()
		return nil, ctx.Err()
	}
	if err := child.Wait(); err != nil {
		return nil, err
	}
	return out.kept, nil
}

// limitedBuffer keeps the first maxOutput bytes and drops the rest.
// It is no bytes.Buffer, whose ReadFrom would take everything.
type limitedBuffer struct{ kept []byte }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	room := maxOutput - len(b.kept)
	b.kept = append(b.kept, p[:min(room, len(p))]...)
	return len(p), nil
}

// told returns a value of nvidia-smi, "" for what it does not know: it writes [N/A],
// [Not Supported], [Unknown Error] and the like in brackets, and in places N/A without.
func told(value string) string {
	value = line(value)
	if strings.HasPrefix(value, "[") || value == "N/A" {
		return ""
	}
	return value
}

// line makes one short line of printable text of whatever a program wrote.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.TrimSpace(text)
	if len(text) > maxFact {
		text = strings.ToValidUTF8(text[:maxFact], "") + "…"
	}
	return text
}

// number reads a figure that is not negative, Unknown for anything else.
func number(text string) float64 {
	v, err := strconv.ParseFloat(told(text), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1e18 {
		return Unknown
	}
	return v
}

func whole(text string) int64 { return int64(number(text)) }

// mebibytes reads a figure in MiB as bytes.
func mebibytes(text string) int64 {
	v := whole(text)
	if v == Unknown || v > math.MaxInt64>>20 {
		return Unknown
	}
	return v << 20
}
