package e2e

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// TestExportImportExport: what one program exports, another takes in and exports
// again, byte for byte, ids and all; taking it in twice changes nothing.
func TestExportImportExport(t *testing.T) {
	u := newUpstream(t, func(a ask) []step {
		if a.Round == 0 && a.Prompt == "look" {
			return []step{think("Hm. "), say("I look. "), call("c1", "current_time", ""), finish("tool_calls")}
		}
		return wordy(a)
	})
	from, to := startProduct(t, u), startProduct(t, u)
	d := from.door()
	for i, what := range []string{"look", "你好 🌍", "third"} {
		d.whole(t, prompt{Prompt: what, Chat: name("c", i%2)})
	}
	row := 0
	d.whole(t, prompt{Chat: "c0", RegenerateOf: &row})
	mustDo(t, d, "POST", "/version/c0/0/0", nil)
	mustDo(t, d, "POST", "/fork/c0/1", nil)
	mustDo(t, d, "DELETE", "/messages/c0/2", nil)

	file := exported(t, d)
	for range 2 {
		res, err := to.door().request("POST", "/api/v1/import", file, http.Header{})
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("import: status %d, %v: %s", res.StatusCode, err, said)
		}
		if again := exported(t, to.door()); !bytes.Equal(again, file) {
			t.Errorf("exported again:\n%s\nfirst it was\n%s", again, file)
		}
	}
	if got := to.door().conversation(t, "c0"); len(got.Messages) == 0 || len(got.Messages[1].Versions) != 2 {
		t.Errorf("what was taken in is shown as %+v", got)
	}
}

func exported(t *testing.T, d *door) []byte {
	t.Helper()
	res, err := d.request("GET", "/api/v1/export", nil, http.Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	file, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || len(file) == 0 {
		t.Fatalf("export: status %d, %d bytes, %v", res.StatusCode, len(file), err)
	}
	return file
}
