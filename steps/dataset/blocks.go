package dataset

import "slices"

// blockNames keeps the names of the blocks of prompts so that what a prompt has in common with
// the one before it is there once: a session of long prompts would take the square of its
// length otherwise.
type blockNames struct{ last []int64 }

// keep returns names to keep, and counts in t those that are new.
func (b *blockNames) keep(t *Table, names []int64) []int64 {
	n := len(names)
	switch common := commonPrefix(b.last, names); {
	case common == n: // nothing is new
		return b.last[:n:n]
	case common < len(b.last):
		b.last = slices.Clone(names)
		t.blocks += n
	default:
		b.last = append(b.last, names[common:]...)
		t.blocks += n - common
	}
	return b.last[:n:n]
}

func commonPrefix(a, b []int64) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// scoped is the name of a block that is one only within its session.
func scoped(session int, name int64) int64 {
	x := uint64(name) + uint64(session+1)*0xbf58476d1ce4e5b9
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int64(x ^ x>>31)
}
