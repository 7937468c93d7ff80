package app

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counted is a store of settings that counts reads and may fail.
type counted struct {
	memory
	reads int
	err   error
}

func (c *counted) Settings(ctx context.Context) (map[string]string, error) {
	c.reads++
	if c.err != nil {
		return nil, c.err
	}
	return c.memory.Settings(ctx)
}

func (c *counted) SetSettings(ctx context.Context, changes map[string]*string) error {
	return errors.Join(c.memory.SetSettings(ctx, changes), c.err)
}

func TestSettingsAreReadOnce(t *testing.T) {
	store := &counted{memory: memory{}, err: errors.New("the disk is busy")}
	r := &recall{store: store}
	if _, err := r.Settings(t.Context()); err == nil {
		t.Error("the failure is hidden")
	}
	store.err = nil
	want := map[string]string{}
	check := func(reads int) {
		t.Helper()
		for range 3 {
			got, err := r.Settings(t.Context())
			if diff := cmp.Diff(got, want); diff != "" || err != nil {
				t.Errorf("%v (-got +want)\n%s", err, diff)
			}
			if got != nil {
				got["mine"] = "scribbled"
			}
		}
		if store.reads != reads {
			t.Errorf("read %d times, want %d", store.reads, reads)
		}
	}
	check(2)
	one, two := "1", "2"
	if err := r.SetSettings(t.Context(), map[string]*string{"a": &one}); err != nil {
		t.Error(err)
	}
	want["a"] = "1"
	check(3)
	// A change that is reported as failed may have been made.
	store.err = errors.New("the answer was lost")
	if err := r.SetSettings(t.Context(), map[string]*string{"a": &two}); err == nil {
		t.Error("the failure is hidden")
	}
	store.err = nil
	want["a"] = "2"
	check(4)
}
