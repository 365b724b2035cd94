package cli

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/kinform/kinform/internal/diff"
)

// jsonPrinter writes a JSON object in a line for each change.
type jsonPrinter struct {
	full bool // the whole object, too
}

// jsonChange is what stands in a line.
type jsonChange struct {
	Time            time.Time      `json:"time"`
	Kind            string         `json:"kind"`
	Resource        string         `json:"resource"`
	Key             string         `json:"key"`
	ResourceVersion string         `json:"resourceVersion"`
	Initial         bool           `json:"initial,omitempty"`
	Missed          bool           `json:"finalStateUnknown,omitempty"`
	Changes         []diff.Change  `json:"changes,omitempty"`
	Object          map[string]any `json:"object,omitempty"`
}

func (p jsonPrinter) text(c change) (string, error) {
	j := jsonChange{
		Time: c.Time, Kind: string(c.Kind), Resource: c.Resource, Key: c.Key, ResourceVersion: c.Version,
		Initial: c.Initial, Missed: c.Missed, Changes: c.Fields,
	}
	if p.full {
		j.Object = c.After
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(j)
	return b.String(), err
}
