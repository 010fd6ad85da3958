// Package store stores a run in a directory: the plan, the journal, every record, the logs of every server, the
// result and its reports.
//
//	dir, err := store.Create(store.DefaultPath(".", runID), redactor)
//	if err != nil { ... }
//	defer dir.Close()
//	err = dir.WriteJSON(store.PlanFile, plan)
//
// The layout below the directory:
//
//	plan.json             the plan
//	events.jsonl          the journal: the only file that resume relies on
//	records/NAME.jsonl.gz every request of every run
//	logs/NAME.log         output of every server and step
//	machine.json          fingerprint of the machine
//	results.json          the result document; report.md and report.txt are rendered from it
//	source/               copies of the pipeline files
//
// All access uses one os.Root, so no name and no link leads out of the directory. Whole files are written
// atomically. Secrets are masked in all files. WriteFile writes reports elsewhere in the same way.
//
// Package engine reads and writes the content of the files. This package decodes only results.json
// (ReadDocument).
package store
