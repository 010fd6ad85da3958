package result

import (
	"cmp"
	"errors"
	"fmt"
)

// Limits bound what Decode accepts: a document may come from an untrusted pull request. A zero
// field means its default.
//
// The defaults leave room for 1,000 cells of twelve runs each. A run of some seconds takes 5 KB, in
// 32 objects and arrays and 280 values. Its series grow with its time, up to 300 points each: eight
// of them take 40 KB. Each GPU adds five series, in three objects and arrays each.
type Limits struct {
	Bytes   int64 // of the whole file, 512 MiB
	Depth   int   // of nested objects and arrays, 32
	String  int   // bytes of one string as written, 1 MiB
	Array   int   // elements of one array or members of one object, 200,000
	Objects int   // objects and arrays in all, 4,000,000
	Values  int   // values of any kind in all, 64,000,000
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Bytes: cmp.Or(l.Bytes, 512<<20), Depth: cmp.Or(l.Depth, 32), String: cmp.Or(l.String, 1<<20),
		Array: cmp.Or(l.Array, 200_000), Objects: cmp.Or(l.Objects, 4_000_000), Values: cmp.Or(l.Values, 64_000_000),
	}
}

// ErrLimit is wrapped by the error of a document that exceeds Limits.
var ErrLimit = errors.New("beyond a limit")

// errLarge is the error for a document with too much valid content.
var errLarge = fmt.Errorf("%w: divide the matrix of the pipeline file over several files, or measure fewer repeats", ErrLimit)

// check scans data once, before memory is allocated for it, and applies the limits. It checks only
// the syntax that it needs; the parser checks the rest.
func (l Limits) check(data []byte) error {
	var (
		members []int // per open container, separators seen so far
		objects int
		values  int
	)
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			n := stringEnd(data[i+1:])
			if n > l.String {
				return fmt.Errorf("string of %d bytes at byte %d, limit %d: %w", n, i, l.String, ErrLimit)
			}
			i += n + 1
		case '{', '[':
			members = append(members, 0)
			objects++
			if len(members) > l.Depth {
				return fmt.Errorf("nesting deeper than %d at byte %d: %w", l.Depth, i, ErrLimit)
			}
			if objects > l.Objects {
				return fmt.Errorf("more than %d objects and arrays: %w", l.Objects, errLarge)
			}
		case '}', ']':
			if len(members) > 0 {
				members = members[:len(members)-1]
			}
		case ',':
			values++
			if values >= l.Values {
				return fmt.Errorf("more than %d values: %w", l.Values, errLarge)
			}
			if len(members) == 0 {
				continue
			}
			members[len(members)-1]++
			if members[len(members)-1] >= l.Array {
				return fmt.Errorf("array or object with more than %d elements at byte %d: %w", l.Array, i, ErrLimit)
			}
		}
	}
	return nil
}

// stringEnd returns the number of bytes before the closing quote of a string that starts at the
// beginning of data, or all of them if it is never closed.
func stringEnd(data []byte) int {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(data)
}
