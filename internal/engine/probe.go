package engine

import (
	"context"
	"io"
	"time"

	"github.com/kinform/kinform/internal/engine/machine"
)

// probe asks for the server's version after a watch broke. A server that was restored
// from a backup would accept our higher version and send nothing until it has caught
// up with it.
//
// It asks for a state that is not older than ours, which the server's cache can answer:
// a cache that has reached our version proves that the history is the one we know, as
// caches are filled from it. After a failure all clients ask at once, and must not all
// have the storage read. A cache that has not reached it proves nothing: that server
// may lag behind the one that we were connected to. Only then a consistent read is
// requested; if that is older than what we hold, the history went back, and a
// consistent list replaces everything. If it is not, the watch continues, on whichever
// server: one that lags sends nothing that is older than the requested version.
func (r *Reflector) probe(ctx context.Context, do machine.Do) machine.Do {
	silence, o := r.options.Silence, ListOptions{Limit: 1, Probe: true}
	if do.Act == machine.AskCache {
		silence, o.ResourceVersion = min(silence, catchUp), r.version.String()
	}
	version, err := r.askVersion(ctx, silence, o)
	if err != nil {
		return r.broke(ctx, err)
	}
	return r.tell(machine.Happened{What: machine.Answered, Version: r.compare(version)})
}

// probePause is how long a probe is good for: where watches end or break all the time,
// not each of them is worth another. What comes meanwhile is asked for when the next
// watch ends, or is silent.
const probePause = 30 * time.Second

// catchUp is how long a cache may take to reach our version. Servers give it 3 s.
const catchUp = 10 * time.Second

// askVersion returns the version of a list.
func (r *Reflector) askVersion(ctx context.Context, silence time.Duration, o ListOptions) (Version, error) {
	dog := newWatchdog(ctx, silence)
	defer dog.release()
	stream, err := r.source.List(dog, o)
	if err != nil {
		return Version{}, dog.cause(err)
	}
	defer stream.Close()
	for err == nil {
		_, err = stream.Next()
	}
	if err != io.EOF {
		return Version{}, dog.cause(err)
	}
	return ParseVersion(stream.Meta().ResourceVersion), nil
}
