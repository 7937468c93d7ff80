package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var sampleTime = time.Date(2026, 1, 2, 3, 4, 5, 60_000_000, time.UTC)

func TestNativeFormRoundTrips(t *testing.T) {
	for _, r := range sampleRecords(t) {
		t.Run(string(r.Kind), func(t *testing.T) {
			line := r.AppendJSON(nil)
			got, err := ParseRecord(line)
			if err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if diff := cmp.Diff(r, got, cmpopts.IgnoreUnexported(Record{})); diff != "" {
				t.Errorf("read differs (-written +read):\n%s", diff)
			}
			if again := got.AppendJSON(nil); !bytes.Equal(again, line) {
				t.Errorf("written again:\n%s\nfirst:\n%s", again, line)
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(line, &members); err != nil {
				t.Fatal(err)
			}
			if string(members["event"]) != `"`+string(r.Kind)+`"` || string(members["at"]) != `"2026-01-02T03:04:05.060Z"` {
				t.Errorf("got %s", line)
			}
		})
	}
}

func TestNativeFormKeepsUnknownPayloads(t *testing.T) {
	for _, body := range []string{`{}`, `{"x":1}`, `{"run_id":"r_9"}`, `{"run_id":"r_9","msg_id":"m_9", "x" : [ 1 ]}`} {
		for _, run := range []string{"", "r_1"} {
			r := Record{Conversation: "c", Seq: 7, At: sampleTime, Kind: "hologram", Body: json.RawMessage(body)}
			if run != "" {
				r.Run, r.Message = "r_1", "m_1"
			}
			got, err := ParseRecord(r.AppendJSON(nil))
			if diff := cmp.Diff(r, got, cmpopts.IgnoreUnexported(Record{})); diff != "" || err != nil {
				t.Errorf("%s of run %q: %v\n%s", body, run, err, diff)
			}
		}
	}
}

func TestRecordsInsideOtherJSON(t *testing.T) {
	records := sampleRecords(t)
	b, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	var got []Record
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(records) {
		t.Fatalf("%d of %d records came back", len(got), len(records))
	}
	for i := range got {
		want, err1 := records[i].Event()
		event, err2 := got[i].Event()
		if diff := cmp.Diff(want, event); diff != "" || err1 != nil || err2 != nil {
			t.Errorf("%s: %v %v\n%s", records[i].Kind, err1, err2, diff)
		}
	}
	if err := json.Unmarshal([]byte(`[{"seq":1}]`), &got); !errors.Is(err, ErrRecord) {
		t.Errorf("a record without its members: %v", err)
	}
}

func TestParseRecordRefuses(t *testing.T) {
	good := `{"conversation":"c","seq":1,"at":"2026-01-02T03:04:05.060Z","event":"title","title":"x"}`
	if _, err := ParseRecord([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{
		"nothing":          "",
		"cut short":        good[:len(good)-1],
		"white space":      " " + good,
		"another order":    `{"seq":1,"conversation":"c","at":"2026-01-02T03:04:05.060Z","event":"title","title":"x"}`,
		"a bad time":       strings.Replace(good, "2026-01", "2026-13", 1),
		"a seq of text":    strings.Replace(good, `"seq":1`, `"seq":"1"`, 1),
		"a broken seq":     strings.Replace(good, `"seq":1`, `"seq":1.5`, 1),
		"a huge seq":       strings.Replace(good, `"seq":1`, `"seq":99999999999999999999`, 1),
		"a kind of number": strings.Replace(good, `"event":"title"`, `"event":1`, 1),
		"half of the ids":  strings.Replace(good, `"title","title"`, `"title","run_id":"r_1","title"`, 1),
		"bad UTF-8":        strings.Replace(good, `"x"`, "\"\xff\"", 1),
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := ParseRecord([]byte(line)); !errors.Is(err, ErrRecord) {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

func FuzzParseRecord(f *testing.F) {
	for _, r := range sampleRecords(f) {
		f.Add(r.AppendJSON(nil))
	}
	f.Add([]byte(`{"conversation":"c","seq":1,"at":"2026-01-02T03:04:05.060Z","event":"x","run_id":"","msg_id":"","run_id":"r"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseRecord(line)
		if err != nil {
			return
		}
		if !json.Valid(r.Body) || r.Body[0] != '{' {
			t.Fatalf("the body is no object: %s", r.Body)
		}
		again, err := ParseRecord(r.AppendJSON(nil))
		if diff := cmp.Diff(r, again, cmpopts.IgnoreUnexported(Record{})); diff != "" || err != nil {
			t.Fatalf("%v\n%s", err, diff)
		}
	})
}

// sampleRecords is a record for each sample of each kind, placed.
func sampleRecords(tb testing.TB) []Record {
	tb.Helper()
	var records []Record
	for _, s := range Specs() {
		for _, sample := range s.Samples {
			r, err := NewRecord("default", "", "", sample)
			if err != nil {
				tb.Fatal(err)
			}
			if s.Run {
				r.Run, r.Message = "r_1", "m_2"
			}
			r.Seq, r.At = int64(len(records)+1), sampleTime
			records = append(records, r)
		}
	}
	return records
}
