package cluster

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// step makes one change. Only failures of the server or of the way to it are
// errors: what other people have changed or deleted meanwhile is taken as it is.
// After an error the work is still there for the next step.
func (c *Cluster) step(ctx context.Context) error {
	before := c.counts.sum()
	for range 100 { // tasks that find nothing to write are cheap
		if err := ctx.Err(); err != nil {
			return err
		}
		c.hear()
		if err := c.perform(ctx, c.next()); err != nil {
			return err
		}
		if c.counts.sum() > before {
			return nil
		}
	}
	return nil
}

// next takes a task off the queue, or begins something new.
func (c *Cluster) next() task {
	if len(c.nodes) > 0 && c.rand.IntN(20) == 0 {
		return c.nodes[c.rand.IntN(len(c.nodes))]
	}
	if len(c.tasks) == 0 || len(c.tasks) < c.atOnce() && c.rand.IntN(3) == 0 {
		return c.story()
	}
	i, last := c.rand.IntN(len(c.tasks)), len(c.tasks)-1
	t := c.tasks[i]
	c.tasks[i] = c.tasks[last]
	c.tasks[last] = nil
	c.tasks = c.tasks[:last]
	*t.waiting() = false
	return t
}

// atOnce is how many things go on at the same time.
func (c *Cluster) atOnce() int { return min(max(len(c.workloads)/10, 3), 50) }

func (c *Cluster) perform(ctx context.Context, t task) error {
	more, err := t.do(ctx, c)
	switch {
	case err == nil:
		if more {
			c.queue(t)
		}
		return nil
	case outdated(err):
		// The task has put its model right, or will read again.
		c.queue(t)
		return nil
	case refused(err):
		// It would be refused again. Whatever comes next for this object
		// queues it again.
		return nil
	default:
		c.queue(t)
		return err
	}
}

// outdated: the model was behind the server.
func outdated(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)
}

// refused: the server will not have this write, today or tomorrow.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err)
}

// notSupported: the server does not have this part of the API.
func notSupported(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsMethodNotSupported(err) || errors.As(err, &status) && status.Status().Code == 501
}

// retired is what a task returns that found its object gone: there is nothing
// more to do.
func retired(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return false, err
}

func failure(verb, kind string, n objectName, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s %s/%s: %w", verb, kind, n.namespace, n.name, err)
}
