package cache

import (
	"errors"
	"fmt"

	"k8s.io/klog/v2"
)

// deltaHandler applies what a queue hands out: to the store first, then to the
// handler.
type deltaHandler struct {
	log     klog.Logger
	store   Store
	handler ResourceEventHandler
	keyFunc KeyFunc
}

// process is a [ProcessFunc] for Deltas.
func (h *deltaHandler) process(obj any, inInitialList bool) error {
	deltas, ok := obj.(Deltas)
	if !ok {
		return errors.New("object given as Process argument is not Deltas")
	}
	for _, d := range deltas {
		if err := h.apply(d, inInitialList); err != nil {
			return err
		}
	}
	return nil
}

func (h *deltaHandler) apply(d Delta, inInitialList bool) error {
	switch d.Type {
	case Added, Updated, Replaced, Sync:
		return h.put(d.Object, inInitialList)
	case Deleted:
		if err := h.store.Delete(d.Object); err != nil {
			return err
		}
		h.handler.OnDelete(d.Object)
	case ReplacedAll:
		info, ok := d.Object.(ReplacedAllInfo)
		if !ok {
			return fmt.Errorf("ReplacedAll did not contain ReplacedAllInfo: %T", d.Object)
		}
		return h.replaceAll(info, inInitialList)
	case SyncAll:
		if _, ok := d.Object.(SyncAllInfo); !ok {
			return fmt.Errorf("SyncAll did not contain SyncAllInfo: %T", d.Object)
		}
		for _, obj := range h.store.List() {
			h.handler.OnUpdate(obj, obj)
		}
	case Bookmark:
		info, ok := d.Object.(BookmarkInfo)
		if !ok {
			return fmt.Errorf("bookmark delta did not contain BookmarkInfo: %T", d.Object)
		}
		h.store.Bookmark(info.ResourceVersion)
	}
	return nil
}

// put decides by the store, not by the delta, whether an object is new.
func (h *deltaHandler) put(obj any, inInitialList bool) error {
	old, exists := h.stored(obj)
	if exists {
		if err := h.store.Update(obj); err != nil {
			return err
		}
		h.handler.OnUpdate(old, obj)
		return nil
	}
	if err := h.store.Add(obj); err != nil {
		return err
	}
	h.handler.OnAdd(obj, inInitialList)
	return nil
}

func (h *deltaHandler) stored(obj any) (any, bool) {
	old, exists, err := h.store.Get(obj)
	return old, exists && err == nil
}

// replaceAll changes the store at once, then delivers deletions, then the objects of
// the list in their order.
func (h *deltaHandler) replaceAll(info ReplacedAllInfo, inInitialList bool) error {
	gone, err := vanished(h.log, nil, h.store, info.Objects, h.keyFunc)
	if err != nil {
		return err
	}
	type before struct {
		obj    any
		exists bool
	}
	olds := make([]before, len(info.Objects))
	for i, obj := range info.Objects {
		olds[i].obj, olds[i].exists = h.stored(obj)
	}
	if err := h.store.Replace(info.Objects, info.ResourceVersion); err != nil {
		return err
	}
	for _, tombstone := range gone {
		h.handler.OnDelete(tombstone)
	}
	for i, obj := range info.Objects {
		if olds[i].exists {
			h.handler.OnUpdate(olds[i].obj, obj)
		} else {
			h.handler.OnAdd(obj, inInitialList)
		}
	}
	return nil
}

// processBatch is a [ProcessBatchFunc]: one transaction for changes of different
// objects, where the store can do that.
func (h *deltaHandler) processBatch(deltas []Delta, inInitialList bool) error {
	store, ok := h.store.(TransactionStore)
	if !ok {
		return h.processEach(deltas, inInitialList)
	}
	txns := make([]Transaction, len(deltas))
	notify := make([]func(), len(deltas))
	for i, d := range deltas {
		obj := d.Object
		switch d.Type {
		case Added, Updated, Replaced, Sync:
			if old, exists := h.stored(obj); exists {
				txns[i] = Transaction{Type: TransactionTypeUpdate, Object: obj}
				notify[i] = func() { h.handler.OnUpdate(old, obj) }
			} else {
				txns[i] = Transaction{Type: TransactionTypeAdd, Object: obj}
				notify[i] = func() { h.handler.OnAdd(obj, inInitialList) }
			}
		case Deleted:
			txns[i] = Transaction{Type: TransactionTypeDelete, Object: obj}
			notify[i] = func() { h.handler.OnDelete(obj) }
		default:
			return fmt.Errorf("delta type %s is not supported in batch processing", d.Type)
		}
	}
	failed := store.Transaction(txns...)
	if failed == nil {
		for _, call := range notify {
			call()
		}
		return nil
	}
	for _, i := range failed.SuccessfulIndices {
		if i < len(notify) {
			notify[i]()
		}
	}
	return fmt.Errorf("not all items in the batch successfully processed: %w", failed)
}

func (h *deltaHandler) processEach(deltas []Delta, inInitialList bool) error {
	var errs []error
	for _, d := range deltas {
		if err := h.apply(d, inInitialList); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
