package plan

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/term"
)

const (
	// bothOrdersWithin is the number of repeats within which any two targets come in both orders. One file in
	// eight would otherwise have one order alone in its first four repeats, and any drift in every difference.
	bothOrdersWithin = 4
	// mostDraws limits the draws of the first repeats. A dozen targets have so many pairs that one of them often
	// keeps its order.
	mostDraws = 100
)

// order draws the order of the targets in each repeat, each repeat by itself. The draw depends on the seeds of the
// benchmarks and on the targets with their images, so that sides with other images are measured in other orders.
type order struct {
	key  string
	draw int // of the first repeats, from 1
}

// orderOf returns the order of a plan's targets. The first repeats are drawn again until any two targets come in
// both orders before the first look.
func orderOf(p *Plan) order {
	var seeds []uint64
	var targets, with []string
	least := 0
	for _, b := range p.Benchmarks {
		seeds = append(seeds, b.Seed)
		least = max(least, b.RepeatMin)
		for _, c := range b.Cells {
			if !c.handedOver() && !slices.Contains(targets, c.Target) {
				targets = append(targets, c.Target)
			}
		}
	}
	for _, t := range p.Targets {
		if slices.Contains(targets, t.Addr) {
			with = append(with, t.Addr+" "+strings.Join(t.Images, " "))
		}
	}
	slices.Sort(with)
	o := order{key: digest([]any{seeds, with})}
	for o.draw = 1; o.draw < mostDraws && !o.both(targets, min(bothOrdersWithin, least)); o.draw++ {
	}
	return o
}

// rank returns what a target is sorted by in a repeat.
func (o order) rank(target string, repeat int) string {
	draw := o.draw
	if repeat > bothOrdersWithin {
		draw = 0
	}
	rank := sha256.Sum256(fmt.Appendf(nil, "sides/1 %s %d %d %s", o.key, draw, repeat, target))
	return string(rank[:])
}

// sort puts targets in the order of a repeat.
func (o order) sort(targets []string, repeat int) {
	slices.SortFunc(targets, func(a, b string) int { return strings.Compare(o.rank(a, repeat), o.rank(b, repeat)) })
}

// both reports whether any two targets come in both orders in the first repeats.
func (o order) both(targets []string, repeats int) bool {
	for i, a := range targets {
		for _, b := range targets[:i] {
			first := 0
			for r := 1; r <= repeats; r++ {
				if o.rank(a, r) < o.rank(b, r) {
					first++
				}
			}
			if repeats > 1 && (first == 0 || first == repeats) {
				return false
			}
		}
	}
	return true
}

// orderText lists in which order the launches of which repeats come, "" if no repeat launches two.
func (p *Plan) orderText() string {
	const mostOrders = 3
	called, legend := p.orderNames()
	var orders []string
	repeats := map[string][]string{}
	for _, r := range p.Repeats {
		names := make([]string, len(r.Launches))
		for i, l := range r.Launches {
			names[i] = called[l.Target]
		}
		text := strings.Join(names, ", ")
		if repeats[text] == nil {
			orders = append(orders, text)
		}
		repeats[text] = append(repeats[text], fmt.Sprint(r.Index))
	}
	if len(orders) == 0 || len(p.Repeats[0].Launches) < 2 {
		return strings.Join(orders, "; ")
	}
	shown := orders[:min(mostOrders, len(orders))]
	out := make([]string, 0, len(shown))
	for i, text := range shown {
		when := "repeat " + repeats[text][0]
		switch {
		case i > 0 && i == len(orders)-1:
			when = "the others"
		case len(repeats[text]) > 1:
			when = "repeats " + humanize.List(repeats[text])
		}
		out = append(out, text+" in "+when)
	}
	if more := len(orders) - len(shown); more > 0 {
		out = append(out, humanize.Count(more, "other order"))
	}
	return "drawn" + legend + ": " + strings.Join(out, "; ")
}

// orderNames returns what the text of orders calls each target: what differs between their addresses. Names that would
// fill the line are numbered, and the legend says how.
func (p *Plan) orderNames() (called map[string]string, legend string) {
	const mostText = 40 // characters of all names together
	var targets []string
	for _, r := range p.Repeats {
		for _, l := range r.Launches {
			if !slices.Contains(targets, l.Target) {
				targets = append(targets, l.Target)
			}
		}
	}
	slices.Sort(targets)
	called = map[string]string{}
	length := 0
	for _, t := range targets {
		called[t] = term.Escape(ownPart(t, targets))
		length += len(called[t])
	}
	if length <= mostText {
		return called, ""
	}
	list := make([]string, len(targets))
	for i, t := range targets {
		number := strconv.Itoa(i + 1)
		list[i] = number + " = " + called[t]
		called[t] = number
	}
	return called, " of " + strings.Join(list, ", ")
}

// ownPart returns an address without the labels that all have, and the key alone where they are instances of one block.
func ownPart(address string, all []string) string {
	block := func(s string) string { before, _, _ := strings.Cut(s, `["`); return before }
	if len(all) > 1 && !slices.ContainsFunc(all, func(s string) bool { return block(s) != block(all[0]) || block(s) == s }) {
		return strings.TrimSuffix(strings.TrimPrefix(address, block(address)+`["`), `"]`)
	}
	prefix := func(s string) string { return s[:strings.LastIndexByte(block(s), '.')+1] }
	if len(all) > 1 && !slices.ContainsFunc(all, func(s string) bool { return prefix(s) != prefix(all[0]) }) {
		return strings.TrimPrefix(address, prefix(address))
	}
	return address
}
