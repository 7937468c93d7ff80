package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/archive"
	"verbatim/internal/attachment"
	"verbatim/internal/blob"
	"verbatim/internal/turnlog"
)

// picture is a small PNG.
func picture(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// form returns a body of multipart/form-data and its type.
func form(t *testing.T, boundary string, fill func(*multipart.Writer)) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	if err := m.SetBoundary(boundary); err != nil {
		t.Fatal(err)
	}
	fill(m)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), m.FormDataContentType()
}

func formFile(name, data string) func(*multipart.Writer) {
	return func(m *multipart.Writer) {
		w, err := m.CreatePart(textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename=%q`, name)}})
		if err == nil {
			_, err = io.WriteString(w, data)
		}
		if err != nil {
			panic(err)
		}
	}
}

func sendFile(query, kind, body string) ask {
	return ask{method: "POST", path: v1 + "/uploads" + query, body: body, header: header{"Content-Type": kind}}
}

func TestK1Uploads(t *testing.T) {
	png := picture(t)
	pngForm, formKind := form(t, "xyz", formFile("../a b.png", png))
	none, noneKind := form(t, "xyz", func(m *multipart.Writer) {
		if err := m.WriteField("name", "a.png"); err != nil {
			t.Fatal(err)
		}
	})
	two, twoKind := form(t, "xyz", func(m *multipart.Writer) {
		formFile("a.txt", "a")(m)
		formFile("b.txt", "b")(m)
	})
	large, largeKind := form(t, "xyz", formFile("a.txt", strings.Repeat("x", attachment.MaxBytes+formBytes)))
	rows := []struct {
		name string
		ask  ask
		kind Kind
		want map[string]any
	}{
		{name: "a body", ask: sendFile("?name=a.png", "image/png", png), want: map[string]any{"name": "a.png", "mime": "image/png", "size": float64(len(png))}},
		{name: "what it says it is does not count", ask: sendFile("?name=a.png", "image/png", "text"), want: map[string]any{"name": "a.png", "mime": "text/plain", "size": 4.0}},
		{name: "a form", ask: sendFile("", formKind, pngForm), want: map[string]any{"name": "a b.png", "mime": "image/png", "size": float64(len(png))}},
		{name: "a form without a file", ask: sendFile("", noneKind, none), kind: Invalid},
		{name: "a form with two files", ask: sendFile("", twoKind, two), kind: Invalid},
		{name: "a form that ends early", ask: sendFile("", formKind, pngForm[:len(pngForm)/2]), kind: Invalid},
		{name: "a form without marks", ask: sendFile("", "multipart/form-data", pngForm), kind: Invalid},
		{name: "a large form", ask: sendFile("", largeKind, large), kind: TooLarge},
		{name: "a large body", ask: sendFile("", "text/plain", strings.Repeat("x", attachment.MaxBytes+1)), kind: TooLarge},
		{name: "K3 what is not taken", ask: sendFile("?name=a.bin", "application/octet-stream", "\x00\x01\x02\xff"), kind: Unsupported},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := row.ask.of(api)
			if row.kind != "" {
				wantDetails(t, rec, row.kind)
				if len(w.files.of) > 0 {
					t.Error("something was kept")
				}
				return
			}
			got := decodeJSON(t, rec, 201)
			id, _ := got["id"].(string)
			if _, there := w.files.of[id]; !there || got["expires_at"] != "2026-01-02T04:04:05.000Z" {
				t.Errorf("answer = %v", got)
			}
			delete(got, "id")
			delete(got, "expires_at")
			if got["name"] != row.want["name"] && strings.ContainsAny(got["name"].(string), "/\\") {
				t.Errorf("name = %q", got["name"])
			}
			row.want["name"] = got["name"]
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestM2FilesOfOtherPages: a form of another site needs no question before it is
// sent, so the cookie alone does not let it in.
func TestM2FilesOfOtherPages(t *testing.T) {
	_, api := newWorld(t, nil)
	cookie := cookieName(&entry{host: testHost, scheme: "http"}) + "=" + newKey(testToken).cookie
	body, kind := form(t, "xyz", formFile("a.txt", "a"))
	for _, row := range []struct {
		name   string
		header header
		kind   Kind
	}{
		{"a form with the cookie", header{"Content-Type": kind, "Cookie": cookie}, ContentType},
		{"text with the cookie", header{"Content-Type": "text/plain", "Cookie": cookie}, ContentType},
		{"fields with the cookie", header{"Content-Type": "application/x-www-form-urlencoded; charset=utf-8", "Cookie": cookie}, ContentType},
		{"nothing said, with the cookie", header{"Content-Type": "-", "Cookie": cookie}, ContentType},
		{"a foreign page", header{"Content-Type": kind, "Cookie": cookie, "Origin": "https://evil.example"}, Denied},
		{"its own page", header{"Content-Type": kind, "Cookie": cookie, "Origin": "http://" + testHost}, ""},
		{"what a page must ask for", header{"Content-Type": "application/octet-stream", "Cookie": cookie}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, path := range []string{"/uploads", "/import"} {
				rec := ask{method: "POST", path: v1 + path, body: body, noToken: true, header: row.header}.of(api)
				if row.kind != "" {
					wantDetails(t, rec, row.kind)
				} else if rec.Code >= 300 {
					t.Errorf("%s: status %d %s", path, rec.Code, rec.Body)
				}
			}
		})
	}
}

func TestUploadIsOfUseForAnHour(t *testing.T) {
	w, api := newWorld(t, nil)
	id, _ := decodeJSON(t, sendFile("?name=a.txt", "text/plain", "hello").of(api), 201)["id"].(string)
	body := `{"run_id":"r1","prompt":"x","attachments":[{"upload":"` + id + `"},{"name":"b","text":"B"}]}`
	for range 2 {
		if rec := post(v1+"/runs", body).of(api); rec.Code != 202 {
			t.Fatalf("status = %d %s", rec.Code, rec.Body)
		}
	}
	var names []string
	for _, f := range w.sent[1].Files {
		names = append(names, f.Name+"="+f.Text)
	}
	if diff := cmp.Diff([]string{"a.txt=hello", "b=B"}, names); diff != "" || len(w.sent) != 2 {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if rec := (ask{method: "GET", path: v1 + "/blobs/" + id}).of(api); rec.Body.String() != "hello" {
		t.Errorf("blob = %d %q", rec.Code, rec.Body)
	}
	w.now = w.now.Add(UploadLife)
	wantDetails(t, post(v1+"/runs", body).of(api), Missing)
	wantDetails(t, ask{method: "GET", path: v1 + "/blobs/" + id}.of(api), Missing)
	sendFile("?name=b.txt", "text/plain", "b").of(api)
	if diff := cmp.Diff([]string{id}, w.files.gone); diff != "" {
		t.Errorf("removed: %s", diff)
	}
}

func TestUploadsHaveABound(t *testing.T) {
	w, api := newWorld(t, nil)
	for i := range MaxUploads {
		if rec := sendFile("", "text/plain", "x").of(api); rec.Code != 201 {
			t.Fatalf("upload %d: %d %s", i, rec.Code, rec.Body)
		}
	}
	wantDetails(t, sendFile("", "text/plain", "x").of(api), Limited)
	w.now = w.now.Add(UploadLife)
	if rec := sendFile("", "text/plain", "x").of(api); rec.Code != 201 || len(w.files.of) != 1 {
		t.Errorf("an hour later: %d, %d files", rec.Code, len(w.files.of))
	}
	w.files.err = blob.ErrFull
	wantDetails(t, sendFile("", "text/plain", "x").of(api), Full)
}

func TestBlobs(t *testing.T) {
	png := picture(t)
	svg := `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`
	page := "<!DOCTYPE html><script>alert(1)</script>"
	large := strings.Repeat("a line of output\n", attachment.MaxBytes/16)
	utf16 := "\xff\xfe" + "h\x00\xe9\x00"
	rows := []struct {
		name, data, query string
		kind, disposition string
		body              string
	}{
		{"a picture", png, "?name=a%22b.png", "image/png", `inline; filename="a\"b.png"`, png},
		{"a PDF", "%PDF-1.4\n%%EOF\n", "", "application/pdf", "inline; filename=file", "%PDF-1.4\n%%EOF\n"},
		{"text", "one\r\ntwo", "", "text/plain; charset=utf-8", "", "one\r\ntwo"},
		{"text of another encoding", utf16, "", "text/plain; charset=utf-8", "", "hé"},
		{"M5 an SVG", svg, "?name=a.svg", "text/plain; charset=utf-8", "", svg},
		{"M5 a page", page, "?name=a.html", "text/plain; charset=utf-8", "", page},
		{"a long output", large, "", "text/plain; charset=utf-8", "", large},
		{"what nobody can show", "\x00\x01\x02\xff", "", "application/octet-stream", "attachment; filename=file", "\x00\x01\x02\xff"},
		{"to be saved", utf16, "?download=true&name=a.txt", "application/octet-stream", "attachment; filename=a.txt", utf16},
		{"an SVG to be saved", svg, "?download=true&name=..%2Fa.svg", "application/octet-stream", "", svg},
		{"nothing in it", "", "", "text/plain; charset=utf-8", "", ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := ask{method: "GET", path: v1 + "/blobs/" + w.files.add(row.data) + row.query}.of(api)
			h := rec.Header()
			if rec.Code != 200 || h.Get("Content-Type") != row.kind || rec.Body.String() != row.body {
				t.Errorf("%d %s, %d bytes, want %s, %d bytes", rec.Code, h.Get("Content-Type"), rec.Body.Len(), row.kind, len(row.body))
			}
			got := h.Get("Content-Disposition")
			if row.disposition != "" && got != row.disposition || strings.Contains(got, "..") || strings.Contains(got, "/") {
				t.Errorf("disposition = %q, want %q", got, row.disposition)
			}
			if !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Cache-Control"), "private") {
				t.Errorf("headers = %v", h)
			}
		})
	}
}

func TestBlobInParts(t *testing.T) {
	w, api := newWorld(t, nil)
	path := v1 + "/blobs/" + w.files.add("0123456789")
	get := func(h header) *httptest.ResponseRecorder { return ask{method: "GET", path: path, header: h}.of(api) }
	rec := get(header{"Range": "bytes=2-4"})
	if rec.Code != http.StatusPartialContent || rec.Body.String() != "234" || rec.Header().Get("Content-Range") != "bytes 2-4/10" {
		t.Errorf("part = %d %q %v", rec.Code, rec.Body, rec.Header())
	}
	tag := rec.Header().Get("ETag")
	if rec := get(header{"If-None-Match": tag}); rec.Code != http.StatusNotModified || rec.Body.Len() > 0 {
		t.Errorf("known = %d %q", rec.Code, rec.Body)
	}
	if raw := (ask{method: "GET", path: path + "?download=true", header: header{"If-None-Match": tag}}).of(api); raw.Code != 200 {
		t.Errorf("the bytes have the mark of the text: %d", raw.Code)
	}
	if rec := (ask{method: "HEAD", path: path}).of(api); rec.Code != 200 || rec.Body.Len() > 0 || rec.Header().Get("Content-Length") != "10" {
		t.Errorf("head = %d %v", rec.Code, rec.Header())
	}
	clear(w.files.used)
	wantDetails(t, get(header{"If-None-Match": tag}), Missing)
}

func TestBlobsThatAreNotShown(t *testing.T) {
	w, api := newWorld(t, nil)
	there := w.files.add("secret")
	w.files.used[there] = false
	for name, path := range map[string]string{
		"what nothing refers to": there, "none": "b_" + strings.Repeat("0", 26), "no name": "x", "another folder": "..%2Ftoken",
	} {
		t.Run(name, func(t *testing.T) {
			wantDetails(t, ask{method: "GET", path: v1 + "/blobs/" + path}.of(api), Missing)
		})
	}
	used := w.files.add("x")
	wantDetails(t, ask{method: "GET", path: v1 + "/blobs/" + used + "?download=perhaps"}.of(api), Invalid)
	w.files.err = errors.New("disk on fire")
	wantDetails(t, ask{method: "GET", path: v1 + "/blobs/" + used}.of(api), Internal)
}

func TestExport(t *testing.T) {
	const file = "{\"format\":\"verbatim-export\"}\n"
	for path, want := range map[string]string{"/export": "export []", "/conversations/c1/export": "export [c1]"} {
		t.Run(path, func(t *testing.T) {
			w, api := newWorld(t, nil)
			rec := ask{method: "GET", path: v1 + path}.of(api)
			h := rec.Header()
			if rec.Code != 200 || rec.Body.String() != file || h.Get("Content-Type") != exportType || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%d %q %v", rec.Code, rec.Body, h)
			}
			if diff := cmp.Diff([]string{want}, w.calls); diff != "" {
				t.Error(diff)
			}
			rec = ask{method: "HEAD", path: v1 + path}.of(api)
			if rec.Code != 200 || rec.Body.Len() > 0 || len(w.calls) > 1 {
				t.Errorf("head = %d, calls %v", rec.Code, w.calls)
			}
		})
	}
	t.Run("what is not there", func(t *testing.T) {
		w, api := newWorld(t, nil)
		w.exportError = archive.ErrMissing
		rec := ask{method: "GET", path: v1 + "/conversations/c1/export"}.of(api)
		wantDetails(t, rec, Missing)
		if rec.Header().Get("Content-Disposition") != "" {
			t.Error("an error is to be saved as a file")
		}
	})
	t.Run("one that breaks off does not look whole", func(t *testing.T) {
		w, api := newWorld(t, nil)
		w.exportHalf, w.exportError = true, errors.New("disk on fire")
		defer func() {
			if fault := recover(); fault != http.ErrAbortHandler || !strings.Contains(w.logs.String(), "disk on fire") {
				t.Errorf("fault = %v, log = %s", fault, &w.logs)
			}
		}()
		ask{method: "GET", path: v1 + "/export"}.of(api)
		t.Error("it ended as if it were whole")
	})
}

func importOf(body string) ask {
	return ask{method: "POST", path: v1 + "/import", body: body, header: header{"Content-Type": "application/jsonl"}}
}

func TestImport(t *testing.T) {
	w, api := newWorld(t, nil)
	if got := decodeJSON(t, importOf("a file").of(api), 200); !cmp.Equal(got, map[string]any{"conversations": []any{}}) || w.body != "a file" {
		t.Errorf("answer %v, body %q", got, w.body)
	}
	w.imported = archive.Imported{Conversations: []archive.Outcome{{ID: "c1", State: archive.Done, Records: 3}, {ID: "c2", State: archive.Refused, Reason: "It is there."}}}
	outcomes := []any{
		map[string]any{"id": "c1", "state": "imported", "records": 3.0},
		map[string]any{"id": "c2", "state": "refused", "reason": "It is there.", "records": 0.0},
	}
	if diff := cmp.Diff(map[string]any{"conversations": outcomes}, decodeJSON(t, importOf("x").of(api), 200)); diff != "" {
		t.Error(diff)
	}
	for _, err := range []error{archive.ErrCut, archive.ErrFormat} {
		w.importError = fmt.Errorf("line 7: %w", err)
		rec := importOf("x").of(api)
		if rec.Code != 422 || rec.Header().Get("Content-Type") != problemType || !strings.Contains(rec.Body.String(), `"conversations":[{"id":"c1"`) || !strings.Contains(rec.Body.String(), `"code":"unfit"`) || !strings.Contains(rec.Body.String(), "Line 7") {
			t.Errorf("%v: %d %s", err, rec.Code, rec.Body)
		}
	}
	w.importError = turnlog.ErrFull
	wantDetails(t, importOf("x").of(api), Full)
	w.importError = errors.New("disk on fire")
	wantDetails(t, importOf("x").of(api), Internal)
}

func TestImportMayBeLarge(t *testing.T) {
	w, api := newWorld(t, nil)
	large := strings.Repeat("x", MaxBodyBytes+1)
	if rec := importOf(large).of(api); rec.Code != 200 || w.body != large {
		t.Errorf("status = %d, %d bytes came", rec.Code, len(w.body))
	}
	r := importOf("x").request()
	r.ContentLength = MaxImportBytes + 1
	wantDetails(t, serve(api, r), TooLarge)
	r = sendFile("", "text/plain", "x").request()
	r.ContentLength = MaxBodyBytes + 1
	wantDetails(t, serve(api, r), TooLarge)
}
