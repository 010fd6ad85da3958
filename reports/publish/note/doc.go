// Package note writes one comment on a change and keeps it up to date: the comment of a report, with a
// section for each job that reports on the same file, such as the legs of a matrix. No job loses the section
// of another one, no older run writes over a newer one, and of two comments that were written at once one stays.
//
// A comment is ours only if its first line is our marker and its author is ours. Everything that is shown is
// rendered here from the result document, and foreign text is escaped.
//
// Services differ in how a comment is written ([Conversation]) and in the pages that it links to ([Body]).
package note
