package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/llm"
)

// K4: files go before the text, as they were given, and the same way each time
// that they are sent.
func TestK4FilesInRequest(t *testing.T) {
	files := []llm.File{
		{Name: "cat.png", MIME: "image/png", Data: []byte("\x89PNG\x00\xff")},
		{Name: "cv <\"é\">.pdf", MIME: "application/pdf", Data: []byte("%PDF-1.4")},
	}
	req := llm.Request{Model: "m", Messages: []llm.Message{
		{Role: llm.RoleUser, Text: "what is <this>?\n", Files: files},
		said("a cat"),
		{Role: llm.RoleUser, Files: files[:1]},
		asked("and now?"),
	}}
	const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORwD/"}}`
	const want = `{"model":"m","messages":[` +
		`{"role":"user","content":[` + image + `,` +
		`{"type":"file","file":{"filename":"cv <\"é\">.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQ="}},` +
		`{"type":"text","text":"what is <this>?\n"}]},` +
		`{"role":"assistant","content":"a cat"},` +
		`{"role":"user","content":[` + image + `]},` +
		`{"role":"user","content":"and now?"}],` +
		`"stream":true,"stream_options":{"include_usage":true}}` + "\n"
	for range 2 {
		got, err := encode(req, false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), want); diff != "" {
			t.Errorf("(-got +want):\n%s", diff)
		}
	}
}

func TestATypeCannotLeaveItsPlace(t *testing.T) {
	f := llm.File{Name: "x", MIME: `image/png",` + "\n" + `"x;\`, Data: []byte("x")}
	raw, err := encode(llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Files: []llm.File{f}}}}, false)
	if err != nil || !json.Valid(raw) || !strings.Contains(string(raw), `"data:image/pngx;base64,eA=="`) {
		t.Errorf("got %s and %v", raw, err)
	}
}

func TestBadParametersAreAnError(t *testing.T) {
	_, err := encode(llm.Request{Tools: []llm.Tool{{Name: "x", Parameters: json.RawMessage(`{"a`)}}}, false)
	if err == nil || !strings.HasPrefix(err.Error(), "encode the request: ") {
		t.Errorf("got %v", err)
	}
}

// Files are large, and a request holds all of the conversation's: they are in
// memory once, encoded.
func TestLargeFilesAreCopiedOnce(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 2<<20/16)
	req := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "x", Files: []llm.File{
		{Name: "a.pdf", MIME: "application/pdf", Data: data}, {Name: "b.png", MIME: "image/png", Data: data},
	}}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	raw, err := encode(req, false)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	encoded := uint64(2 * base64.StdEncoding.EncodedLen(len(data)))
	if got, most := after.TotalAlloc-before.TotalAlloc, encoded+encoded/10; got > most {
		t.Errorf("a request of %d bytes takes %d bytes of memory, want at most %d", len(raw), got, most)
	}
	if n := strings.Count(string(raw), base64.StdEncoding.EncodeToString(data)); n != 2 {
		t.Errorf("the file is in the request %d times, want 2", n)
	}
}
