package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a check run's output.
const (
	maxSummary     = 65535
	maxAnnotations = 50
)

// checkInput is the body of a request on a check run.
type checkInput struct {
	Check
	Output *struct {
		Title       string       `json:"title"`
		Summary     string       `json:"summary"`
		Annotations []Annotation `json:"annotations"`
	} `json:"output"`
}

// problem returns why GitHub refuses the request, "" if it does not.
func (in *checkInput) problem() string {
	switch {
	case in.Name == "":
		return "name is missing"
	case (in.Status == "completed") != (in.Conclusion != ""):
		return "a check is completed if and only if it has a conclusion"
	case in.Output == nil:
		return ""
	case in.Output.Title == "" || in.Output.Summary == "":
		return "title or summary is missing"
	case utf8.RuneCountInString(in.Output.Summary) > maxSummary:
		return "summary is too long"
	case len(in.Output.Annotations) > maxAnnotations:
		return "more than 50 annotations"
	}
	return ""
}

// saveCheck creates a check run, or updates the one in the path.
func (s *Server) saveCheck(r *http.Request) reply {
	var in checkInput
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return invalid(err.Error())
	}
	if problem := in.problem(); problem != "" {
		return invalid(problem)
	}
	answer := ok
	if r.Method == http.MethodPost {
		s.next++
		in.ID, in.HTMLURL = s.next, fmt.Sprintf("https://github.com/o/r/runs/%d", s.next)
		s.checks = append(s.checks, in.Check)
		r.SetPathValue("id", fmt.Sprint(s.next))
		answer = created
	}
	c := find(s.checks, r, checkID)
	if c == nil {
		return notFound
	}
	c.Name, c.Status, c.Conclusion, c.Completed = in.Name, in.Status, in.Conclusion, time.Time{}
	if in.Conclusion != "" {
		c.Completed = s.now().UTC().Truncate(time.Second)
	}
	if in.Output != nil {
		c.Title, c.Summary = in.Output.Title, in.Output.Summary
		c.Annotations = slices.Concat(c.Annotations, in.Output.Annotations)
	}
	s.note()
	return answer(s.checkJSON(*c))
}

func checkID(c Check) int64 { return c.ID }

// AddCheck adds a check run of another workflow.
func (s *Server) AddCheck(c Check) {
	s.with(func() {
		s.next++
		c.ID = s.next
		s.checks = append(s.checks, c)
		s.note()
	})
}

func (s *Server) getCheck(r *http.Request) reply {
	if c := find(s.checks, r, checkID); c != nil {
		return ok(s.checkJSON(*c))
	}
	return notFound
}

func (s *Server) listChecks(r *http.Request) reply {
	name := r.URL.Query().Get("check_name")
	return page(s, r, s.shown().checks, func(c Check) bool { return c.SHA == r.PathValue("sha") && (name == "" || c.Name == name) },
		s.checkJSON).within("check_runs")
}

// checkJSON returns a check run as in answers.
func (s *Server) checkJSON(c Check) object {
	var completed any
	if !c.Completed.IsZero() {
		completed = c.Completed.Format(time.RFC3339)
	}
	return object{
		"id": c.ID, "name": c.Name, "head_sha": c.SHA, "external_id": c.ExternalID, "status": c.Status, "conclusion": c.Conclusion,
		"completed_at": completed,
		"details_url":  c.DetailsURL, "html_url": c.HTMLURL,
		"output": object{"title": c.Title, "summary": c.Summary, "annotations_count": len(c.Annotations)},
		"app":    object{"slug": strings.TrimSuffix(s.Viewer, "[bot]")},
	}
}

// listStatuses returns the combined status: the latest of each context.
func (s *Server) listStatuses(r *http.Request) reply {
	var latest []Status
	for _, one := range s.statuses {
		same := func(o Status) bool { return o.Context == one.Context }
		if i := slices.IndexFunc(latest, same); one.SHA != r.PathValue("sha") {
			continue
		} else if i >= 0 {
			latest[i] = one
		} else {
			latest = append(latest, one)
		}
	}
	return page(s, r, latest, func(Status) bool { return true }, func(one Status) object {
		return object{"state": one.State, "context": one.Context, "description": one.Description, "target_url": one.TargetURL}
	}).within("statuses")
}

func (s *Server) createStatus(r *http.Request) reply {
	var in Status
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !slices.Contains([]string{"pending", "success", "failure", "error"},
		in.State) {
		return invalid("State is not included in the list")
	}
	if utf8.RuneCountInString(in.Description) > 140 {
		return invalid("description is too long (maximum is 140 characters)")
	}
	in.SHA = r.PathValue("sha")
	s.statuses = append(s.statuses, in)
	return created(in)
}
