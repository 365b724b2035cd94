package ctrlcache

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/internal/engine"
)

// fill reads what was selected into a list's items.
func fill(out client.ObjectList, found []taken) error {
	to, err := meta.GetItemsPtr(out)
	if err != nil {
		return err
	}
	items := reflect.ValueOf(to).Elem()
	n := 0
	for _, s := range found {
		n += len(s.chosen)
	}
	use := engine.Read
	if n > longList {
		use = engine.ReadAll
	}
	if elem := items.Type().Elem(); len(found) > 0 && elem == found[0].form.of {
		return fillValues(items, n, found, use)
	}
	// Items that are pointers, or anything: each object is made by itself.
	objs := make([]apiruntime.Object, 0, n)
	for _, s := range found {
		for _, r := range s.chosen {
			obj := reflect.New(s.form.of).Interface()
			switch err := s.read(r, obj, s.shared, use); {
			case isTypeError(err):
				return err
			case err == nil:
				objs = append(objs, obj.(apiruntime.Object))
			}
		}
	}
	return meta.SetList(out, objs)
}

// fillValues reads into items that are the objects themselves, without a copy. What
// cannot be read is left out; that objects are of another type than the items is an
// error.
func fillValues(items reflect.Value, n int, found []taken, use engine.Use) error {
	values := reflect.MakeSlice(items.Type(), n, n)
	failed := make([]bool, n)
	var other atomic.Pointer[error]
	from := 0
	for _, s := range found {
		inBlocks(len(s.chosen), func(i int) {
			err := s.read(s.chosen[i], values.Index(from+i).Addr().Interface(), s.shared, use)
			if failed[from+i] = err != nil; isTypeError(err) {
				other.Store(&err)
			}
		})
		from += len(s.chosen)
	}
	if err := other.Load(); err != nil {
		return *err
	}
	at := 0
	for i := range n {
		if failed[i] {
			continue
		}
		if at < i {
			values.Index(at).Set(values.Index(i))
		}
		at++
	}
	for i := at; i < n; i++ {
		values.Index(i).SetZero()
	}
	items.Set(values.Slice(0, at))
	return nil
}

const (
	// longList is the length of a list beyond which its objects are not kept decoded if
	// it is read again soon.
	longList = 1000
	// block is how many objects a goroutine reads at a time: enough to be worth starting
	// one.
	block = 16
	// mostReaders is how many goroutines read for one list: the process has other work.
	mostReaders = 4
)

// inBlocks calls read for 0 to n-1: a few in turn, many by several goroutines, as
// decoding an object takes longer than copying one does. A panic is the caller's, who
// may recover from it, in whichever goroutine it was.
func inBlocks(n int, read func(i int)) {
	var next atomic.Int64
	work := func() {
		for {
			from := int(next.Add(block)) - block
			if from >= n {
				return
			}
			for i := from; i < min(from+block, n); i++ {
				read(i)
			}
		}
	}
	var panicked atomic.Pointer[any]
	contained := func() {
		defer func() {
			if p := recover(); p != nil {
				panicked.Store(&p)
			}
		}()
		work()
	}
	var others sync.WaitGroup
	for range min(mostReaders, runtime.GOMAXPROCS(0), (n+block-1)/block) - 1 {
		others.Go(contained)
	}
	contained()
	others.Wait()
	if p := panicked.Load(); p != nil {
		panic(*p)
	}
}
