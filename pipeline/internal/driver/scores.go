package driver

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// Limits on the output of an evaluation.
const (
	maxScores    = 256 << 20 // bytes in all files; lm-eval also writes prompts and answers
	maxSample    = 16 << 20  // bytes in one line
	maxFiles     = 1000
	maxQuestion  = 200 // bytes in an ID
	maxFamily    = 64  // bytes in the name of a family; a longer text, such as a passage, is kept as its digest
	samplesFiles = "samples_*.jsonl"
)

// scores imports the scores of an evaluation.
func (d Driver) scores(opt Options, work, output string) (result.Run, error) {
	files, err := scoreFiles(work, output)
	if err != nil {
		return result.Run{}, err
	}
	folder, err := d.Keep(opt.Name)
	if err != nil {
		return result.Run{}, err
	}
	r := scoreReader{Evaluation: *opt.Driver.Evaluation, scores: map[string]float64{}, families: map[string]string{}}
	for _, path := range files {
		if err := d.keepScores(&r, path, filepath.Join(folder, filepath.Base(path))); err != nil {
			return result.Run{}, err
		}
	}
	return r.run(folder)
}

// scoreFiles returns the output file, or else lm-eval's sample files in the folder.
func scoreFiles(work, output string) ([]string, error) {
	if _, err := os.Stat(output); err == nil {
		return []string{output}, nil
	}
	var files []string
	err := filepath.WalkDir(work, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if ok, _ := filepath.Match(samplesFiles, entry.Name()); ok {
			files = append(files, path)
		}
		if len(files) > maxFiles {
			return fmt.Errorf("it left more than %d files of samples", maxFiles)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for the scores of the evaluation: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the evaluation left neither %s nor %s of lm-eval (--log_samples --output_path DIR) in its folder, driver.dir",
			filepath.Base(output), samplesFiles)
	}
	slices.Sort(files)
	return files, nil
}

// keepScores reads a file and stores a copy with secrets masked.
func (d Driver) keepScores(r *scoreReader, path, kept string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the scores of the evaluation: %w", err)
	}
	defer func() { _ = file.Close() }() // opened for reading only
	if err := d.copyMasked(kept, io.LimitReader(file, maxScores-r.read)); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the scores of the evaluation: %w", err)
	}
	return r.file(file, filepath.Base(path))
}

// scoreReader reads the scores of one run.
type scoreReader struct {
	steps.Evaluation
	scores   map[string]float64
	families map[string]string
	read     int64
}

// file reads one file with a JSON object per line.
func (r *scoreReader) file(in io.Reader, name string) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxSample)
	for n := 1; lines.Scan(); n++ {
		if r.read += int64(len(lines.Bytes())) + 1; r.read > maxScores {
			return fmt.Errorf("the evaluation left more than %d MiB", maxScores>>20)
		}
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if err := r.line(lines.Bytes(), name); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// line reads one question, in our own format or as a sample of lm-eval.
func (r *scoreReader) line(data []byte, file string) error {
	var q map[string]json.RawMessage
	if err := json.Unmarshal(data, &q); err != nil {
		return fmt.Errorf("no JSON object with a question's score: %w", err)
	}
	id, ours := q["id"]
	doc, sampled := q["doc_id"]
	var name, field string
	switch {
	case ours:
		name, field = text(id), "score"
		if r.Score != "" {
			field = r.Score
		}
	case sampled:
		if filter := text(q["filter"]); r.Filter != "" && filter != r.Filter {
			return nil
		}
		name = taskOf(file) + "/" + text(doc)
		var err error
		if field, err = r.scoreOf(q); err != nil {
			return err
		}
	default:
		return errors.New("it has neither id and score nor a doc_id of lm-eval")
	}
	if err := r.add(name, field, q[field]); err != nil {
		return err
	}
	return r.family(name, q)
}

// family records the family of a question: a field of its line, or of the document that lm-eval took it from.
func (r *scoreReader) family(name string, q map[string]json.RawMessage) error {
	value, ok := q[cmp.Or(r.Family, "family")]
	if !ok && r.Family != "" {
		var doc map[string]json.RawMessage
		if json.Unmarshal(q["doc"], &doc) == nil {
			value, ok = doc[r.Family]
		}
	}
	switch family := text(value); {
	case !ok && r.Family != "":
		return fmt.Errorf("question %q has no %q, which is to hold its family", name, r.Family)
	case !ok:
	case family == "" || family == "null":
		return fmt.Errorf("the family of question %q is empty", name)
	case len(family) > maxFamily:
		r.families[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(family)))[:16]
	default:
		r.families[name] = family
	}
	return nil
}

// add records the score of a question.
func (r *scoreReader) add(name, field string, value json.RawMessage) error {
	switch _, twice := r.scores[name]; {
	case name == "" || len(name) > maxQuestion:
		return fmt.Errorf("the id of a question has 1 to %d bytes", maxQuestion)
	case twice && r.Filter == "":
		return fmt.Errorf("question %q is there twice: where lm-eval reads answers in several ways, say by filter which one counts", name)
	case twice:
		return fmt.Errorf("question %q is there twice", name)
	case value == nil:
		return fmt.Errorf("question %q has no %q", name, field)
	}
	var score float64
	switch string(value) {
	case "true":
		score = 1
	case "false":
	default:
		if err := json.Unmarshal(value, &score); err != nil {
			return fmt.Errorf("%s of question %q must be a number", field, name)
		}
	}
	if math.IsNaN(score) || score < 0 || score > 1 {
		return fmt.Errorf("%s of question %q is %g; scores are from 0 to 1", field, name, score)
	}
	r.scores[name] = score
	return nil
}

// scoreOf returns the name of the score to use in a sample of lm-eval.
func (r *scoreReader) scoreOf(q map[string]json.RawMessage) (string, error) {
	if r.Score != "" {
		return r.Score, nil
	}
	var names []string
	if err := json.Unmarshal(q["metrics"], &names); err != nil || len(names) == 0 {
		return "", errors.New("the sample does not name its metrics: say by score which one counts")
	}
	if len(names) > 1 {
		return "", fmt.Errorf("the question has several scores: say by score which one counts, one of %s", strings.Join(names, ", "))
	}
	return names[0], nil
}

// taskOf returns the task in the name of a samples file: samples_TASK_TIME.jsonl.
func taskOf(file string) string {
	task := strings.TrimPrefix(strings.TrimSuffix(file, ".jsonl"), "samples_")
	if i := strings.LastIndexByte(task, '_'); i > 0 {
		task = task[:i]
	}
	return task
}

// text returns a JSON string without quotes, or a number as written.
func text(value json.RawMessage) string {
	if s, err := strconv.Unquote(string(value)); err == nil && len(value) > 0 && value[0] == '"' {
		return s
	}
	return string(value)
}

// run returns the run with all questions.
func (r *scoreReader) run(folder string) (result.Run, error) {
	if n := len(r.scores); n != r.Questions {
		return result.Run{}, fmt.Errorf("the evaluation scored %d questions, and the file says questions = %d", n, r.Questions)
	}
	if n := len(r.families); n != 0 && n != r.Questions {
		return result.Run{}, fmt.Errorf("%d of %d questions have a family: give one to each", n, r.Questions)
	}
	run := scored(r.scores, folder)
	if len(r.families) > 0 {
		run.Families = r.families
	}
	return run, nil
}

// scored returns a run with its scores.
func scored(scores map[string]float64, source string) result.Run {
	sum := 0.0
	for _, id := range slices.Sorted(maps.Keys(scores)) { // sorted, so that the sum is reproducible
		sum += scores[id]
	}
	return result.Run{
		Status: result.RunOK, Sent: len(scores), Scores: scores,
		Metrics: map[string]float64{"evaluation.score": sum / float64(len(scores))},
		Audit:   map[string]any{"source": source},
	}
}
