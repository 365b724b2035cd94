package snapshot_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/kinform/kinform/snapshot"
	"github.com/kinform/kinform/wire"
)

func Example() {
	dir, err := os.MkdirTemp("", "snapshot")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	scope := snapshot.Scope{Server: "https://cluster.example:6443", Resource: "v1/pods"}

	// The first run finds nothing, lists, and then watches.
	f, err := snapshot.Open(dir, scope, snapshot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = f.Load(nil)
	fmt.Println("first run:", errors.Is(err, snapshot.ErrNone))
	list := []snapshot.Entry{
		{Key: "default/web", Format: wire.JSON, Bytes: []byte(`{"metadata":{"name":"web"}}`)},
		{Key: "default/old", Format: wire.JSON, Bytes: []byte(`{"metadata":{"name":"old"}}`)},
	}
	if err := f.Rewrite(slices.Values(list), snapshot.Mark{Version: "100"}); err != nil {
		log.Fatal(err)
	}
	changes := []snapshot.Entry{{Key: "default/old", Gone: true}}
	if err := f.Append(slices.Values(changes), snapshot.Mark{Version: "103"}); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}

	// The second one begins with what the first one had.
	if f, err = snapshot.Open(dir, scope, snapshot.Options{}); err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	mark, err := f.Load(func(e snapshot.Entry) error {
		fmt.Println(e.Key)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("watch from", mark.Version)
	// Output:
	// first run: true
	// default/web
	// watch from 103
}
