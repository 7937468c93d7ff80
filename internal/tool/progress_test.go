package tool

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// note is a note with the moment it was sent at, from the test's begin.
type note struct {
	At   time.Duration
	Text string
}

// notesOf returns a Keeper in a bubble, and where its notes are found.
func notesOf() (*Keeper, *[]note) {
	var notes []note
	begun := time.Now()
	k := NewOutput(OutputConfig{Progress: func(text string) {
		notes = append(notes, note{time.Since(begun), text})
	}})
	return k, &notes
}

func say(t *testing.T, k *Keeper, s string) {
	t.Helper()
	if _, err := io.WriteString(k, s); err != nil {
		t.Fatal(err)
	}
}

func TestProgressIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, notes := notesOf()
		say(t, k, "before it was live, ")
		k.Live()
		for i := range 10 {
			say(t, k, string(rune('0'+i)))
			time.Sleep(90 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		say(t, k, "late")
		synctest.Wait()
		shown, _, _, _, err := k.Result()
		if err != nil || shown != "before it was live, 0123456789late" {
			t.Errorf("got %q, %v", shown, err)
		}
		const ms = time.Millisecond
		want := []note{{0, "0"}, {250 * ms, "12"}, {500 * ms, "345"}, {750 * ms, "678"}, {1000 * ms, "9"}, {60_900 * ms, "late"}}
		if diff := cmp.Diff(want, *notes); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func textOf(notes []note) string {
	var all strings.Builder
	for _, n := range notes {
		all.WriteString(n.Text)
	}
	return all.String()
}

func TestProgressIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, notes := notesOf()
		k.Live()
		whole := strings.Repeat("é日🌍x", 20_000)
		for rest := whole; rest != ""; {
			n := min(len(rest), 1001)
			say(t, k, rest[:n])
			rest = rest[n:]
		}
		time.Sleep(time.Hour)
		say(t, k, "never shown live")
		time.Sleep(time.Hour)
		_, _, _, _, _ = k.Result()
		all := textOf(*notes)
		if len(all) > MaxProgressBytes || len(all) < MaxProgressBytes-16 || !strings.HasSuffix(all, moreComes) || !strings.HasPrefix(whole, strings.TrimSuffix(all, moreComes)) {
			t.Errorf("got %d bytes that end %q", len(all), all[len(all)-60:])
		}
		for i, n := range *notes {
			if len(n.Text) > MaxNoteBytes || len(n.Text) == 0 || !utf8.ValidString(n.Text) {
				t.Errorf("note %d has %d bytes", i, len(n.Text))
			}
			if i > 0 && n.At-(*notes)[i-1].At < MinNoteTime {
				t.Errorf("note %d came %v after the one before", i, n.At-(*notes)[i-1].At)
			}
		}
	})
}

func TestProgressNeverCutsACharacter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, notes := notesOf()
		k.Live()
		for _, b := range []byte("你好🌍") {
			say(t, k, string([]byte{b}))
			time.Sleep(time.Second)
		}
		_, _, _, _, _ = k.Result()
		var texts []string
		for _, n := range *notes {
			texts = append(texts, n.Text)
		}
		if diff := cmp.Diff([]string{"你", "好", "🌍"}, texts); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func TestNoProgressAfterTheEnd(t *testing.T) {
	for name, end := range map[string]func(*Keeper){
		"result": func(k *Keeper) { _, _, _, _, _ = k.Result() },
		"close":  func(k *Keeper) { _ = k.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, notes := notesOf()
				k.Live()
				say(t, k, "a")
				synctest.Wait()
				say(t, k, "b")
				end(k)
				end(k)
				time.Sleep(time.Hour)
				if got := textOf(*notes); got != "a" {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

// The writer does not wait for a slow reader of notes, and the end waits for
// the note that is being sent.
func TestASlowReaderOfNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var notes []note
		begun := time.Now()
		k := NewOutput(OutputConfig{Progress: func(text string) {
			time.Sleep(10 * time.Second)
			notes = append(notes, note{time.Since(begun), text})
		}})
		k.Live()
		say(t, k, "a")
		synctest.Wait()
		for range 100 {
			say(t, k, "b")
		}
		if waited := time.Since(begun); waited != 0 {
			t.Errorf("the writer waited %v", waited)
		}
		time.Sleep(time.Second)
		_, _, _, _, _ = k.Result()
		if diff := cmp.Diff([]note{{10 * time.Second, "a"}}, notes); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

func TestWithoutLiveThereIsNoProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, notes := notesOf()
		say(t, k, "a")
		time.Sleep(time.Second)
		if _, _, _, _, err := k.Result(); err != nil || len(*notes) != 0 {
			t.Errorf("got %v, %v", *notes, err)
		}
	})
}
