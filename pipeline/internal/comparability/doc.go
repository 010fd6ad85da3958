// Package comparability decides whether two measurements may be set against each other.
//
// What is known of a measurement are its Facts: what work was done (model, tokenizer,
// dataset, lengths, rate, concurrency, sampling), by which load generator, on which machine
// and over which transport. One table, Fields, says how each fact is read, and how far two
// sides may differ in it. Whoever compares anything asks Compare: the judge about the runs of
// a repeat, about a baseline file and about sessions of the history, `compare` about
// documents, the language about the sides of a gate:
//
//	d := comparability.Compare(base, head, comparability.Declare("side"))
//	if why := d.Invalid().Text("base", "head"); why != "" {
//		return invalid(why) // "request rate: base 4, head 8"
//	}
//
// It does no I/O and knows no gates. It does not say what the difference of two servers is:
// that is what is measured, and Sides lists it.
package comparability
