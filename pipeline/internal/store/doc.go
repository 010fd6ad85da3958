// Package store keeps a run in a directory: the plan, the journal, every record, the
// logs of every server, the result and its reports.
//
//	dir, err := store.Create(store.DefaultPath(".", runID), redactor)
//	if err != nil { … }
//	defer dir.Close()
//	err = dir.WriteJSON(store.PlanFile, plan)
//
// The layout below the directory:
//
//	plan.json             what will be done
//	events.jsonl          the journal: the one file that resume relies on
//	records/NAME.jsonl.gz every request of every run
//	logs/NAME.log         output of every server and step
//	machine.json          fingerprint of the machine
//	results.json          the result document; report.md and report.txt are rendered from it
//	source/               the pipeline files as they were
//
// All access goes through one os.Root, so no name and no link leads out of the directory.
// Whole files appear at once or not at all. Secrets are masked in all that is written.
//
// Package engine reads and writes the content of the files; of these, only results.json is decoded here (ReadDocument).
package store
