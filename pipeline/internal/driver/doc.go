// Package driver runs an external load generator in place of ours: one program for each run of a cell, whose
// results it imports.
//
//	d := driver.Driver{Spawner: spawner, Dir: fileFolder, Keep: dir.Folder}
//	run, err := d.Run(ctx, options)
//
// The program gets its own folder, and the server's address in its arguments (steps.DriverVars). It runs in the
// pipeline file's folder. Its output file is read as by `pipeline import`; without the file, its printed output
// is. There must be exactly one result. If the program fails or leaves no result, Run returns an error, so that
// the caller can distinguish a failed measurement from a failed server.
//
// The program of an evaluation scores answers instead: a line for each question, in our own format or as
// lm-eval's samples, becomes the run's Scores. Model replaces it in virtual time.
//
// Only the output file is kept, with secrets masked. The package neither judges results nor checks the server.
package driver
