package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"verbatim/internal/delivery"
	"verbatim/internal/faultfs"
	"verbatim/internal/store"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// lanes saves posts in two chats, and tells of each when it is durable.
func lanes(t *testing.T, db *store.DB, n int, durable func(post string)) error {
	t.Helper()
	for i := range n {
		a := chat(fmt.Sprint(i % 2))
		b, err := db.Bind(t.Context(), a, "c")
		if err != nil {
			return err
		}
		name := fmt.Sprint("p", i)
		var place []delivery.Placement
		for part := range 2 {
			post := fmt.Sprint(name, ".", part)
			place = append(place, delivery.Placement{
				Post: post, Binding: b.ID, Run: "r", Item: name, Seq: 9, State: delivery.Planned,
				Body: &surface.Post{ID: post, Text: strings.Repeat(post, 800)},
			})
		}
		pace := delivery.Pace{Interval: 1}
		if err := db.Save(t.Context(), delivery.Change{Address: a, Binding: b.ID, Place: place, Pace: &pace}); err != nil {
			return err
		}
		durable(name)
	}
	return nil
}

// saved returns how many placements there are of each post, with what it should
// hold.
func saved(t *testing.T, db *store.DB) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, name := range []string{"0", "1"} {
		lane, err := db.Lane(t.Context(), chat(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range lane.Place {
			if p.Body == nil || p.Body.Text != strings.Repeat(p.Post, 800) {
				t.Errorf("post %s has lost its text", p.Post)
			}
			all[p.Item]++
		}
	}
	return all
}

// What was saved is there after the machine stopped between any two writes, and
// what was being saved is there whole or not at all.
func TestSavedPlacementsSurviveAStop(t *testing.T) {
	disk, err := faultfs.New()
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(filepath.Join(t.TempDir(), "data"), store.Options{BallastBytes: -1, VFS: disk.Name()})
	if err != nil {
		t.Fatal(err)
	}
	begun := disk.Len()
	acknowledged := map[string]int{}
	if err := lanes(t, db, 6, func(post string) { acknowledged[post] = disk.Len() }); err != nil {
		t.Fatal(err)
	}
	length := disk.Len()
	step := max(1, (length-begun)/12)
	for n := begun; n <= length; n += step {
		for _, cut := range []faultfs.Cut{{After: n}, {After: n, Power: true, Seed: uint64(n)}} {
			dir := filepath.Join(t.TempDir(), "after")
			if err := disk.Materialise(dir, cut); err != nil {
				t.Fatal(err)
			}
			after := mustOpen(t, dir)
			there := saved(t, after)
			for post, at := range acknowledged {
				if got := there[post]; got != 0 && got != 2 || at <= n && got != 2 {
					t.Errorf("cut %+v: %d of 2 placements of %s", cut, got, post)
				}
			}
			if err := after.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := errors.Join(db.Close(), disk.Close()); err != nil {
		t.Error(err)
	}
}

// A full disk stores nothing of a change, says so, and keeps what is there.
func TestSavingOnAFullDisk(t *testing.T) {
	disk, err := faultfs.New()
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(filepath.Join(t.TempDir(), "data"), store.Options{BallastBytes: -1, VFS: disk.Name()})
	if err != nil {
		t.Fatal(err)
	}
	limit := disk.Used() + 200<<10
	disk.SetQuota(func() int64 { return limit })
	acknowledged := 0
	err = lanes(t, db, 1000, func(string) { acknowledged++ })
	if !errors.Is(err, turnlog.ErrFull) || acknowledged == 0 {
		t.Fatalf("after %d posts: %v, want ErrFull", acknowledged, err)
	}
	m := delivery.Inbound{Delivery: "d", Address: chat("1"), Text: strings.Repeat("x", 100<<10)}
	if err := db.AddInbound(t.Context(), m); !errors.Is(err, turnlog.ErrFull) {
		t.Errorf("a message: %v, want ErrFull", err)
	}
	check := func(want int) {
		t.Helper()
		there := saved(t, db)
		for post, n := range there {
			if n != 2 {
				t.Errorf("%d of 2 placements of %s", n, post)
			}
		}
		if len(there) != want {
			t.Errorf("%d posts, want %d", len(there), want)
		}
	}
	check(acknowledged)
	disk.SetQuota(nil)
	if err := lanes(t, db, acknowledged+1, func(string) {}); err != nil {
		t.Error(err)
	}
	check(acknowledged + 1)
	if err := errors.Join(db.Close(), disk.Close()); err != nil {
		t.Error(err)
	}
}
