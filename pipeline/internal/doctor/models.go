package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/hub"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// Model is a model that a server of this machine loads.
type Model struct {
	Name string
	// Container means that a container loads it. Kept is then the volume or the source of the mount that has its
	// downloads, and Mount tells which.
	Container bool
	Kept      string
	Mount     bool
	// Token means that the server is given a token of the hub.
	Token bool
}

// Weights describes where a model is.
type Weights struct {
	// Folder is the model's folder, or that of the hub's client which keeps downloads; "" if it cannot be seen.
	Folder string
	Have   bool
	// LoggedIn means that the folder has the token of a login.
	LoggedIn bool
	// Free is the space for downloads in bytes, or Unknown.
	Free int64
}

// model adds the model of a server that an engine loads on this machine.
func (n *Needs) model(spec steps.ServerSpec) {
	m := Model{Name: spec.Model, Container: spec.Image != "", Token: hub.HasToken(spec)}
	if m.Name == "" || config.IsLate(m.Name) || !hub.Has(m.Name) && (m.Container || !filepath.IsAbs(m.Name)) {
		return
	}
	if m.Container {
		if len(spec.OwnImages) == 0 { // not an engine that reads its model from the hub
			return
		}
		m.Kept, m.Mount = hub.Kept(spec)
	}
	if !slices.Contains(n.Models, m) {
		n.Models = append(n.Models, m)
	}
}

// weights finds a model. folder is that of the hub's client on this machine, or where it will be.
func (f *Facts) weights(m Model, folder string) Weights {
	w := Weights{Folder: folder, Free: probe.Unknown}
	switch {
	case filepath.IsAbs(m.Name):
		_, err := os.Stat(m.Name)
		return Weights{Folder: m.Name, Have: err == nil, Free: probe.Unknown}
	case m.Container && !f.Docker.Local:
		return Weights{Free: probe.Unknown}
	case m.Mount:
		w.Folder = m.Kept
	case m.Kept != "":
		w.Folder = filepath.Join(f.Docker.RootDir, "volumes", m.Kept, "_data")
		if _, err := os.Stat(w.Folder); errors.Is(err, fs.ErrPermission) {
			w.Folder = ""
		}
	case m.Container:
		w.Folder = ""
	}
	w.Free = f.DockerFree
	if w.Folder != "" {
		w.Free = freeBelow(w.Folder)
		w.Have, w.LoggedIn = hub.Downloaded(w.Folder, m.Name), hub.LoggedIn(w.Folder)
	}
	return w
}

// models checks that each model is there, or can be downloaded.
func models(n Needs, f Facts) []Check {
	var out []Check
	for _, m := range n.Models {
		w := f.Models[m]
		c := Check{Name: "model " + m.Name, Status: OK, Found: "is in " + w.Folder}
		if !w.Have {
			c = toDownload(m, w)
		}
		out = append(out, c)
	}
	return out
}

// toDownload returns the check of a model that is not there, as far as can be seen.
func toDownload(m Model, w Weights) Check {
	c := Check{Name: "model " + m.Name, Status: Warn, Found: "is not in " + w.Folder}
	if w.Folder == "" {
		c.Found = "may have to be downloaded"
	}
	size := hub.Size(m.Name)
	switch {
	case filepath.IsAbs(m.Name):
		c.Status, c.Found, c.Fix = Missing, "is not there", "mount or copy the weights, or name a model of the hub"
	case hub.Gated(m.Name) && !m.Token && !w.LoggedIn:
		if w.Folder != "" {
			c.Status = Missing
		}
		c.Found += ", and the hub gives it only to accounts that have accepted its licence"
		c.Fix = "accept the licence on huggingface.co, and pass a token: env = { HF_TOKEN = var.hf_token }"
	case size > 0 && w.Free >= 0 && w.Free < size:
		c.Status, c.Found = Missing, fmt.Sprintf("%s, and takes about %s; %s are free", c.Found, bytesText(size), bytesText(w.Free))
		c.Fix = "free space, or keep downloads on a larger disk: HF_HOME, or a mount of the container"
	case m.Container && m.Kept == "":
		c.Found, c.Fix = "is downloaded by each launch again"+about(size),
			fmt.Sprintf("keep downloads: container { volumes = { hf-cache = %q } }", hub.ImageFolder)
	default:
		c.Found += "; the first launch downloads it" + about(size)
		c.Fix = "download it beforehand, so that the run does not wait for it: hf download " + m.Name
		if !m.Mount && m.Container {
			c.Fix = "let one launch download it beforehand, so that the run does not wait for it"
		}
	}
	c.Found = strings.TrimSpace(c.Found)
	return c
}

func about(size int64) string {
	if size == 0 {
		return ""
	}
	return ", about " + bytesText(size)
}
