package wire_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/kinform/kinform/wire"
)

// A list is read item by item while it arrives; nothing is decoded.
func ExampleListReader() {
	body := strings.NewReader(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"42"},"items":[
		{"metadata":{"namespace":"shop","name":"web-0","labels":{"app":"web"}}},
		{"metadata":{"namespace":"shop","name":"web-1","labels":{"app":"web"}}}]}`)

	list := wire.NewListReader(body, wire.Limits{})
	var meta wire.Meta
	for {
		item, err := list.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if err := meta.Scan(list.Format(), item); err != nil {
			log.Print("one bad object: ", err)
			continue
		}
		fmt.Printf("%s/%s %s=%s\n", meta.Namespace, meta.Name, meta.Labels[0].Key, meta.Labels[0].Value)
	}
	fmt.Println("complete at", list.Meta().ResourceVersion)
	// Output:
	// shop/web-0 app=web
	// shop/web-1 app=web
	// complete at 42
}

// A bad event is skipped; the stream goes on.
func ExampleWatchReader() {
	body := strings.NewReader(`
		{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"web-0"}}}
		{"type":"ADDED"}
		{"type":"DELETED","object":{"kind":"Pod","metadata":{"name":"web-0"}}}`)

	watch := wire.NewWatchReader(body, wire.Limits{})
	for {
		event, err := watch.Next()
		var bad *wire.EventError
		if errors.As(err, &bad) {
			fmt.Println("skipped:", bad.Err)
			continue
		}
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%s %s %s\n", event.Type, event.Kind, event.Object)
	}
	// Output:
	// ADDED Pod {"kind":"Pod","metadata":{"name":"web-0"}}
	// skipped: the event has no object
	// DELETED Pod {"kind":"Pod","metadata":{"name":"web-0"}}
	// EOF
}
