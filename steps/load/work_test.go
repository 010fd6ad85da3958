package load

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
)

// TestWorkBeyondMemory: requests that are not kept are made when they are sent, and are the same; so are the hashes of all prompts.
func TestWorkBeyondMemory(t *testing.T) {
	r, err := prepare(t.Context(), Options{BaseURL: serve(t, healthy).URL, Model: "m", Workload: workload(50), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.client.pool.close()
	all := r.work
	const bound = 4000
	some, err := newWorkWithin(all.src, all.enc, all.seeds, all.n, bound)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.wires) != 50 || len(some.wires) == 0 || len(some.wires) > 25 {
		t.Fatalf("%d and %d requests are kept", len(all.wires), len(some.wires))
	}
	if some.hash != all.hash || !slices.Equal(some.asked, all.asked) || len(all.asked) != 50 {
		t.Errorf("hashes %s of %d, %s of %d", some.hash, len(some.asked), all.hash, len(all.asked))
	}
	for i := range 50 {
		p, wire, err := all.get(i)
		q, again, err2 := some.get(i)
		if err != nil || err2 != nil || !bytes.Equal(wire, again) || !reflect.DeepEqual(p, q) {
			t.Errorf("request %d: %v %v\n%s\n%s", i, err, err2, wire, again)
		}
	}
}
