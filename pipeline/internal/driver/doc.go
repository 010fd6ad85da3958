// Package driver runs another load generator in the place of ours: one program for each
// run of a cell, whose results are imported.
//
//	d := driver.Driver{Spawner: spawner, Dir: fileFolder, Keep: dir.Folder}
//	run, err := d.Run(ctx, options)
//
// The program gets a folder of its own and learns from its arguments where the server is
// (steps.DriverVars). It runs from the pipeline file's folder. What it leaves in its output
// file is read as `pipeline import` reads it; without the file, what it printed is. Exactly
// one result must be there. A program that fails or leaves nothing is an error, so that the
// caller can distinguish a run that was not measured from one in which the server failed.
//
// The program of an evaluation scores answers instead: a line for each question, of our own format
// or of lm-eval's samples, becomes the run's Scores. Model stands for it in virtual time.
//
// Only the output file is kept, with secrets masked. The package does not judge, and it
// does not know whether the server lives.
package driver
