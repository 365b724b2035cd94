package contract

import (
	"bytes"
	"encoding/json"
)

// fields is a JSON object that is being edited. What is not touched stays as the
// server wrote it.
type fields map[string]json.RawMessage

// parse reads an object, or fails loudly: the stories edit what servers send in
// good order.
func parse[T any](raw []byte) (v T) {
	if err := json.Unmarshal(raw, &v); err != nil {
		panic("what the server sent is no JSON to edit: " + err.Error())
	}
	return v
}

func render(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("what was edited is no JSON any more: " + err.Error())
	}
	return raw
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// in edits the object in a field.
func (f fields) in(name string, edit func(fields)) {
	inner := parse[fields](f[name])
	edit(inner)
	f[name] = render(inner)
}

// isVictim reports whether an object is the one that stories do bad things to.
func (f fields) isVictim() bool {
	return bytes.Contains(f["metadata"], []byte(`"name":"victim"`))
}

// item edits the victim in the body of a list.
func item(edit func(fields)) func([]byte) []byte {
	return func(body []byte) []byte {
		list := parse[fields](body)
		items := parse[[]fields](list["items"])
		for _, o := range items {
			if o.isVictim() {
				edit(o)
			}
		}
		list["items"] = render(items)
		return render(list)
	}
}

// event edits an event.
func event(edit func(fields)) func([]byte) []byte {
	return func(frame []byte) []byte {
		ev := parse[fields](frame)
		edit(ev)
		return render(ev)
	}
}

// subject edits the object of an event.
func subject(edit func(fields)) func([]byte) []byte {
	return event(func(ev fields) { ev.in("object", edit) })
}

// Things to do to an object, none of which servers do.
var (
	noMetadata = func(o fields) { o["metadata"] = raw(`5`) }
	noName     = func(o fields) { o.in("metadata", func(m fields) { delete(m, "name") }) }
	badLabels  = func(o fields) { o.in("metadata", func(m fields) { m["labels"] = raw(`{"a":{}}`) }) }
	badData    = func(o fields) { o["data"] = raw(`{"value":5}`) }
)
