// Package comparability decides whether two measurements may be compared.
//
// Facts describe a measurement: the work (model, tokenizer, dataset, lengths, rate, concurrency, sampling), the
// load generator, the machine and the transport. The table Fields defines how each fact is read, and how far
// two sides may differ in it. All comparisons call Compare: the judge for the runs of a repeat, for a baseline
// file and for sessions of the history, `compare` for documents, and the language for the sides of a gate:
//
//	d := comparability.Compare(base, head, comparability.Declare("side"))
//	if why := d.Invalid().Text("base", "head"); why != "" {
//		return invalid(why) // "request rate: base 4, head 8"
//	}
//
// It does no I/O and knows no gates. It does not compare the two servers, whose difference is measured; Sides
// lists it.
package comparability
