package model

import "time"

// waits are the requests of a run that wait for others.
type waits struct {
	after func(int) ([]int, time.Duration)
	left  map[int]int // of those that wait, for how many
	// children wait for a request.
	children map[int][]int
	// sessions of a closed loop, by request, and how many requests each still has.
	session map[int]int
	members map[int]int
	next    int // number of the session that follows
}

func newWaits(t Traffic) *waits {
	return &waits{after: t.After, left: map[int]int{}, children: map[int][]int{}, session: map[int]int{}, members: map[int]int{}}
}

// add notes what requests wait for: the first n, or those of a session.
func (w *waits) add(n, number int, requests []int) {
	if w.after == nil {
		return
	}
	for i := range n {
		requests = append(requests, i)
	}
	for _, i := range requests {
		w.session[i] = number
		w.members[number]++
		after, _ := w.after(i)
		for _, p := range after {
			w.left[i]++
			w.children[p] = append(w.children[p], i)
		}
	}
}

// on reports whether a request waits for others.
func (w *waits) on(i int) bool { return w.left[i] > 0 }

// session begins the next session of a user, or the user leaves.
func (r *fleetRun) session() {
	f := r.fleet
	requests, at := r.t.Session(r.waits.next)
	if len(requests) == 0 || r.t.Duration > 0 && f.now-r.start >= r.t.Duration {
		r.open--
		return
	}
	r.waits.add(0, r.waits.next, requests)
	r.waits.next++
	for k, i := range requests {
		if !r.waits.on(i) {
			f.at(f.now+at[k], func() { r.begin(i) })
		}
	}
}

// begin sends a request of a closed loop's session. After the end of the run it is left out.
func (r *fleetRun) begin(i int) {
	if r.t.Duration > 0 && r.fleet.now-r.start >= r.t.Duration {
		r.release(i)
		return
	}
	r.served = append(r.served, Served{Index: i, Planned: -1})
	r.send(len(r.served) - 1)
}

// release lets those go that waited for a request alone, and a user whose session is over.
func (r *fleetRun) release(i int) {
	f, w := r.fleet, r.waits
	if w.after == nil {
		return
	}
	for _, k := range w.children[i] {
		if w.left[k]--; w.left[k] == 0 {
			_, wait := w.after(k)
			f.at(f.now+wait, func() {
				if r.t.Session != nil {
					r.begin(k)
				} else {
					r.due(k)
				}
			})
		}
	}
	delete(w.children, i)
	number := w.session[i]
	if w.members[number]--; w.members[number] == 0 && r.t.Session != nil {
		f.at(f.now+r.t.Think, r.user)
	}
}
