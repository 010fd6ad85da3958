package lang

import "github.com/zclconf/go-cty/cty"

// maxLocalSize bounds locals, of which each can be made of several copies of another:
// thirty lines of doubling would fill the memory of any machine.
const maxLocalSize = 4 << 20

// size counts the bytes of strings and the elements of a value. It stops soon after limit.
func size(v cty.Value, limit int) int {
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown():
		return 1
	case v.Type() == cty.String:
		return 1 + len(v.AsString())
	case !v.CanIterateElements():
		return 1
	}
	total := 1
	for it := v.ElementIterator(); it.Next() && total <= limit; {
		_, elem := it.Element()
		total += size(elem, limit-total)
	}
	return total
}
