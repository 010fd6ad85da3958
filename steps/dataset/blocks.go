package dataset

import "slices"

// blockNames stores block names of consecutive prompts, and shares the prefix that a prompt has in common with
// the previous one. Otherwise a session of long prompts would take memory quadratic in its length.
type blockNames struct{ last []int64 }

// keep returns names to store, and counts the new ones in t.
func (b *blockNames) keep(t *Table, names []int64) []int64 {
	n := len(names)
	switch common := commonPrefix(b.last, names); {
	case common == n: // all shared
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

// scoped makes a block name unique to its session.
func scoped(session int, name int64) int64 {
	x := uint64(name) + uint64(session+1)*0xbf58476d1ce4e5b9
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int64(x ^ x>>31)
}
