package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/attachment"
)

// onePixel is a whole PNG.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func withFiles(files string) ask {
	return post("/chat", `{"prompt":"look","chat_id":"c1","attachments":`+files+`}`)
}

// inBase64 is a file as browsers send it. The type that it claims counts for
// nothing.
func inBase64(name, claims string, data []byte) string {
	b, err := json.Marshal(map[string]string{"name": name, "url": "data:" + claims + ";base64," + base64.StdEncoding.EncodeToString(data)})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestFilesOfAMessage(t *testing.T) {
	pixel, err := base64.StdEncoding.DecodeString(onePixel)
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name, files string
		want        []attachment.File
	}{
		{"text", `[{"name":"n.txt","text":" é\n"}]`, []attachment.File{{Name: "n.txt", MIME: "text/plain", Kind: attachment.KindText, Text: " é\n", Data: []byte(" é\n")}}},
		{"a picture, whatever it is called", "[" + inBase64("x.txt", "text/plain", pixel) + "]", []attachment.File{{Name: "x.txt", MIME: "image/png", Kind: attachment.KindImage, Data: pixel}}},
		{"a URL with escapes", `[{"name":"n","url":"data:,a%20b"}]`, []attachment.File{{Name: "n", MIME: "text/plain", Kind: attachment.KindText, Text: "a b", Data: []byte("a b")}}},
		{"K2 an SVG is text", `[{"name":"a.svg","url":"data:image/svg+xml,<svg/>"}]`, []attachment.File{{Name: "a.svg", MIME: "text/plain", Kind: attachment.KindText, Text: "<svg/>", Data: []byte("<svg/>")}}},
		{"without a name", `[{"text":"x"}]`, []attachment.File{{Name: "file", MIME: "text/plain", Kind: attachment.KindText, Text: "x", Data: []byte("x")}}},
		{"a path for a name, unknown members, null for absent", `[{"name":"../../a.txt","size":7,"text":"x","url":null}]`, []attachment.File{{Name: "a.txt", MIME: "text/plain", Kind: attachment.KindText, Text: "x", Data: []byte("x")}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			if rec := withFiles(row.files).of(api); rec.Code != http.StatusOK {
				t.Fatalf("answer = %d %s", rec.Code, rec.Body)
			}
			if diff := cmp.Diff(row.want, w.sent[0].Files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesThatAreRefusedSendNothing(t *testing.T) {
	six := "[" + strings.TrimSuffix(strings.Repeat(`{"name":"a.txt","text":"a"},`, attachment.MaxFiles+1), ",") + "]"
	big := strings.Repeat("x", attachment.MaxBytes+1)
	rows := []struct {
		name, files string
		kind        Kind
		says        string
	}{
		{"six", six, Invalid, "at most 5 files"},
		{"no object", `["a.txt"]`, Invalid, "attachments[0] must be"},
		{"neither URL nor text", `[{"text":"a"},{"name":"a.txt"}]`, Invalid, "attachments[1] must be"},
		{"both", `[{"name":"a.txt","text":"a","url":"data:,a"}]`, Invalid, "attachments[0] must be"},
		{"number for a name", `[{"name":7,"text":"a"}]`, Invalid, "name must be a string"},
		{"a member twice", `[{"text":"a","text":"b"}]`, Invalid, "twice"},
		{"another kind of URL", `[{"name":"a.txt","url":"https://example.org/a.txt"}]`, Invalid, "a.txt did not arrive"},
		{"broken base64", `[{"name":"a.txt","url":"data:;base64,???"}]`, Invalid, "a.txt did not arrive"},
		{"K1 a HEIC that is called JPEG", "[" + inBase64("photo.jpg", "image/jpeg", []byte("\x00\x00\x00\x18ftypheic"+strings.Repeat("\x00", 64))) + "]", Unsupported, "photo.jpg is a HEIC picture"},
		{"a program", "[" + inBase64("a.txt", "text/plain", []byte("\x7fELF\x02\x01\x01\x00\x00")) + "]", Unsupported, "a.txt is a program"},
		{"one good, one bad", `[{"name":"a.txt","text":"a"},` + inBase64("b", "image/png", []byte("\x7fELF\x02\x01\x01\x00\x00")) + "]", Unsupported, "b is a program"},
		{"too much text", fmt.Sprintf(`[{"name":"a.txt","text":%q}]`, big), TooLarge, "a.txt is larger than 2 MiB"},
		{"too large a file", "[" + inBase64("a.png", "image/png", []byte(big)) + "]", TooLarge, "a.png is larger than 2 MiB"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := withFiles(row.files).of(api)
			wantError(t, rec, row.kind)
			if !strings.Contains(rec.Body.String(), row.says) {
				t.Errorf("error = %s, want it to say %q", rec.Body, row.says)
			}
			if len(w.sent) > 0 {
				t.Error("it was sent")
			}
		})
	}
}

func TestK4FilesWithAnAnswerAgainAreRefused(t *testing.T) {
	w, api := newWorld(t, nil)
	rec := post("/chat", `{"regenerate_of":0,"attachments":[{"name":"a.txt","text":"a"}]}`).of(api)
	wantError(t, rec, Invalid)
	if len(w.sent) > 0 || !strings.Contains(rec.Body.String(), "sent again by themselves") {
		t.Errorf("answer = %s, sent %v", rec.Body, w.sent)
	}
}
