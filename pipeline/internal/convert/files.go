package convert

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/regular"
	"github.com/servegate/pipeline/pipeline/internal/store"
)

// ReadArgument reads the results of other tools that an argument names: a path or a pattern
// of paths, before it labels that its results get ("side=base,launch=1:night/*.json"),
// behind it a selection of them ("night.log?qps=2"). A path that is there as it is written
// is taken as it is, and a dash is the standard input. Of several files, those that can be read
// are read: then there are results beside the error, which names the others.
func ReadArgument(arg string, opt ReadOptions, stdin io.Reader) ([]Run, error) {
	labels, selector := map[string]string(nil), Selector{Path: arg}
	if _, err := os.Stat(arg); err != nil {
		var rest string
		labels, rest = ParseLabels(arg)
		if selector, err = ParseSelector(rest); err != nil {
			return nil, err
		}
	}
	paths, err := matching(selector.Path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(selector.Path)
	folder := err == nil && info.IsDir() && !store.IsRunDir(selector.Path)
	if folder {
		if paths, err = inFolder(selector.Path); err != nil {
			return nil, err
		}
	}
	var runs []Run
	var unread, others []error // others are files of a folder beside the results
	for _, path := range paths {
		var more []Run
		if path == "-" && stdin != nil {
			more, err = Read(stdin, "standard input", opt)
		} else {
			more, err = readFile(path, opt)
		}
		if folder && errors.Is(err, ErrNoResult) {
			others = append(others, err)
			continue
		}
		if err != nil {
			unread = append(unread, err)
		}
		runs = append(runs, more...)
	}
	if len(runs) == 0 {
		return nil, errors.Join(append(unread, others...)...)
	}
	Label(runs, labels)
	runs, err = selector.Select(runs)
	return runs, errors.Join(append(unread, err)...)
}

// matching are the files that a path names, in order. Shells expand no pattern behind a
// label.
func matching(path string) ([]string, error) {
	if _, err := os.Stat(path); err == nil || !strings.ContainsAny(path, "*?[") {
		return []string{path}, nil
	}
	paths, err := filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no file matches %s", path)
	}
	slices.Sort(paths)
	return paths, nil
}

// resultFiles are the endings of files that a folder of results is taken to hold.
var resultFiles = []string{".json", ".jsonl", ".csv", ".log", ".txt", ".md", ".yaml", ".yml", ".gz"}

// inFolder returns the result files of a folder, whose own folders are not read.
func inFolder(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files, folders []string
	for _, e := range entries {
		switch {
		case e.IsDir():
			folders = append(folders, e.Name())
		case e.Type().IsRegular() && slices.Contains(resultFiles, strings.ToLower(filepath.Ext(e.Name()))):
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	switch {
	case len(files) > 0:
		return files, nil
	case len(folders) > 0:
		return nil, fmt.Errorf("%s is a folder without %s and without result files (%s); its folders are %s: name one of them, or files: '%s'",
			path, store.ResultsFile, strings.Join(resultFiles, " "), strings.Join(folders[:min(len(folders), 5)], ", "),
			filepath.Join(path, "*", "*.json"))
	}
	return nil, fmt.Errorf("%s is a folder without %s, as run directories have, and without result files of other tools (%s)", path,
		store.ResultsFile, strings.Join(resultFiles, " "))
}

func readFile(path string, opt ReadOptions) ([]Run, error) {
	if store.IsRunDir(path) {
		return nil, fmt.Errorf("%s: %w: use it as it is", path, ErrOurs)
	}
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // opened for reading
	return Read(file, path, opt)
}
