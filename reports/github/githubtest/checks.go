package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of a check run's output.
const (
	maxSummary     = 65535
	maxAnnotations = 50
)

// checkInput is what is sent of a check run.
type checkInput struct {
	Check
	Output *struct {
		Title       string       `json:"title"`
		Summary     string       `json:"summary"`
		Annotations []Annotation `json:"annotations"`
	} `json:"output"`
}

func readCheck(w http.ResponseWriter, r *http.Request) (checkInput, bool) {
	var in checkInput
	problem := ""
	switch err := json.NewDecoder(r.Body).Decode(&in); {
	case err != nil:
		problem = err.Error()
	case in.Name == "":
		problem = "name is missing"
	case (in.Status == "completed") != (in.Conclusion != ""):
		problem = "a check is completed if and only if it has a conclusion"
	case in.Output != nil && (in.Output.Title == "" || in.Output.Summary == ""):
		problem = "title or summary is missing"
	case in.Output != nil && utf8.RuneCountInString(in.Output.Summary) > maxSummary:
		problem = "summary is too long"
	case in.Output != nil && len(in.Output.Annotations) > maxAnnotations:
		problem = "more than 50 annotations"
	}
	if problem != "" {
		refuse(w, http.StatusUnprocessableEntity, "Invalid request.", problem)
	}
	return in, problem == ""
}

// apply takes over what was sent.
func (c *Check) apply(in checkInput) {
	c.Name, c.Status, c.Conclusion = in.Name, in.Status, in.Conclusion
	if in.Output != nil {
		c.Title, c.Summary = in.Output.Title, in.Output.Summary
		c.Annotations = append(c.Annotations, in.Output.Annotations...)
	}
}

func (s *Server) createCheck(w http.ResponseWriter, r *http.Request) {
	in, ok := readCheck(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	c := in.Check
	c.ID, c.HTMLURL = s.next, fmt.Sprintf("https://github.com/o/r/runs/%d", s.next)
	c.apply(in)
	s.checks = append(s.checks, &c)
	s.note()
	answer(w, http.StatusCreated, s.checkJSON(c))
}

func (s *Server) updateCheck(w http.ResponseWriter, r *http.Request) {
	in, ok := readCheck(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.checks, func(c *Check) bool { return c.ID == pathInt(r, "id") })
	if i < 0 {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	s.checks[i].apply(in)
	s.note()
	answer(w, http.StatusOK, s.checkJSON(*s.checks[i]))
}

func (s *Server) getCheck(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.checks {
		if c.ID == pathInt(r, "id") {
			answer(w, http.StatusOK, s.checkJSON(*c))
			return
		}
	}
	refuse(w, http.StatusNotFound, "Not Found")
}

// checkJSON is a check run as answers show it.
func (s *Server) checkJSON(c Check) map[string]any {
	return map[string]any{
		"id": c.ID, "name": c.Name, "head_sha": c.SHA, "external_id": c.ExternalID, "status": c.Status, "conclusion": c.Conclusion,
		"details_url": c.DetailsURL, "html_url": c.HTMLURL,
		"output": map[string]any{"title": c.Title, "summary": c.Summary, "annotations_count": len(c.Annotations)},
		"app":    map[string]any{"slug": strings.TrimSuffix(s.Viewer, "[bot]")},
	}
}

// listStatuses is the combined status: the latest of each context.
func (s *Server) listStatuses(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := map[string]Status{}
	var order []string
	for _, one := range s.statuses {
		if one.SHA == r.PathValue("sha") {
			if _, ok := latest[one.Context]; !ok {
				order = append(order, one.Context)
			}
			latest[one.Context] = one
		}
	}
	all := []Status{}
	for _, name := range order {
		all = append(all, latest[name])
	}
	answer(w, http.StatusOK, map[string]any{"statuses": page(s, w, r, all)})
}

func (s *Server) listChecks(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []map[string]any
	for _, c := range s.shown().checks {
		if c.SHA == r.PathValue("sha") && (r.URL.Query().Get("check_name") == "" || c.Name == r.URL.Query().Get("check_name")) {
			all = append(all, s.checkJSON(c))
		}
	}
	answer(w, http.StatusOK, map[string]any{"total_count": len(all), "check_runs": page(s, w, r, all)})
}

func (s *Server) createStatus(w http.ResponseWriter, r *http.Request) {
	var in Status
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !slices.Contains([]string{"pending", "success", "failure", "error"}, in.State) {
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed", "State is not included in the list")
		return
	}
	if utf8.RuneCountInString(in.Description) > 140 {
		refuse(w, http.StatusUnprocessableEntity, "Validation Failed", "description is too long (maximum is 140 characters)")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in.SHA = r.PathValue("sha")
	s.statuses = append(s.statuses, in)
	answer(w, http.StatusCreated, in)
}
