package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestBadInput sends what no client should send: each gets a clear error in
// JSON, and nothing is stored, started or lost.
func TestBadInput(t *testing.T) {
	u := newUpstream(t, func(ask) []step { return []step{say("Fine."), finish("stop")} })
	p := startProduct(t, u)
	d := p.door()
	d.whole(t, prompt{Prompt: "Hello", Chat: "kept", Run: "kept-run"})

	long := strings.Repeat("x", 65)
	cases := []struct {
		name, method, path, body string
		header                   map[string]string
		want                     int
	}{
		{"bad JSON", "POST", "/chat", `{nope`, nil, 400},
		{"half a JSON", "POST", "/chat", `{"prompt":"x"`, nil, 400},
		{"two JSON values", "POST", "/chat", `{"prompt":"x"} {"prompt":"y"}`, nil, 400},
		{"no JSON", "POST", "/chat", ``, nil, 400},
		{"JSON of another shape", "POST", "/chat", `["x"]`, nil, 400},
		{"null", "POST", "/chat", `null`, nil, 400},
		{"prompt is a number", "POST", "/chat", `{"prompt":7}`, nil, 400},
		{"prompt is missing", "POST", "/chat", `{}`, nil, 400},
		{"prompt is empty", "POST", "/chat", `{"prompt":""}`, nil, 400},
		{"prompt is blank", "POST", "/chat", `{"prompt":" \n\t\u3000"}`, nil, 400},
		{"prompt is not UTF-8", "POST", "/chat", "{\"prompt\":\"\xff\xfe\"}", nil, 400},
		{"tools is a text", "POST", "/chat", `{"prompt":"x","tools":"no"}`, nil, 400},
		{"chat id is a path", "POST", "/chat", `{"prompt":"x","chat_id":"../../etc"}`, nil, 400},
		{"chat id is too long", "POST", "/chat", `{"prompt":"x","chat_id":"` + long + `"}`, nil, 400},
		{"chat id is a number", "POST", "/chat", `{"prompt":"x","chat_id":1}`, nil, 400},
		{"run id has a blank", "POST", "/chat", `{"prompt":"x","run_id":"a b"}`, nil, 400},
		{"run id of another request", "POST", "/chat", `{"prompt":"other","chat_id":"kept","run_id":"kept-run"}`, nil, 422},
		{"row is a text", "POST", "/chat", `{"chat_id":"kept","regenerate_of":"0"}`, nil, 400},
		{"row is not there", "POST", "/chat", `{"chat_id":"kept","regenerate_of":9}`, nil, 404},
		{"row is an answer", "POST", "/chat", `{"chat_id":"kept","regenerate_of":1}`, nil, 400},
		{"prompt is too large", "POST", "/chat", `{"prompt":"` + strings.Repeat("x", 1<<20+1) + `"}`, nil, 413},
		{"body is too large", "POST", "/chat", `{"prompt":"x","pad":"` + strings.Repeat("x", 16<<20) + `"}`, nil, 413},
		{"attachments", "POST", "/chat", `{"prompt":"x","attachments":[{"name":"a","text":"b"}]}`, nil, 400},
		{"cursor is no cursor", "POST", "/chat", `{"prompt":"Hello","chat_id":"kept","run_id":"kept-run"}`, map[string]string{"Last-Event-ID": "seven"}, 400},
		{"cursor in the address is none", "POST", "/chat?after=-1", `{"prompt":"Hello","chat_id":"kept","run_id":"kept-run"}`, nil, 400},
		{"body is no JSON by its type", "POST", "/chat", `{"prompt":"x"}`, map[string]string{"Content-Type": "text/plain"}, 415},
		{"form", "POST", "/chat", `prompt=x`, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415},
		{"wrong token", "POST", "/chat", `{"prompt":"x"}`, map[string]string{"Authorization": "Bearer no"}, 401},
		{"foreign page", "POST", "/chat", `{"prompt":"x"}`, map[string]string{"Origin": "https://evil.example"}, 403},
		{"unknown route", "GET", "/no/such/route", "", nil, 404},
		{"route with a slash too many", "GET", "/chats/", "", nil, 404},
		{"path that climbs", "GET", "/chats/../settings", "", nil, 404},
		{"unknown chat", "GET", "/chats/nobody", "", nil, 404},
		{"chat of a bad id", "GET", "/chats/a%20b", "", nil, 400},
		{"delete an unknown chat", "DELETE", "/chats/nobody", "", nil, 404},
		{"delete all without confirming", "DELETE", "/chats", `{}`, nil, 400},
		{"delete all, confirmed by a text", "DELETE", "/chats", `{"confirm":"true"}`, nil, 400},
		{"title is a number", "PATCH", "/chats/kept", `{"title":7}`, nil, 400},
		{"title is empty", "PATCH", "/chats/kept", `{"title":""}`, nil, 400},
		{"nothing to patch", "PATCH", "/chats/kept", `{}`, nil, 400},
		{"cancel an unknown run", "POST", "/cancel/nobody", `{}`, nil, 404},
		{"cancel nothing", "POST", "/cancel", `{}`, nil, 400},
		{"cancel a number", "POST", "/cancel", `{"run_id":1}`, nil, 400},
		{"wrong method", "PUT", "/chat", `{"prompt":"x"}`, nil, 405},
		{"wrong method on a chat", "POST", "/chats/kept", `{}`, nil, 405},
		{"unknown setting", "POST", "/settings", `{"colour":"red"}`, nil, 400},
		{"setting out of range", "POST", "/settings", `{"temperature":9}`, nil, 400},
		{"settings are a list", "POST", "/settings", `[]`, nil, 400},
	}
	asked := len(u.asked())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			header := http.Header{"Content-Type": {"application/json"}}
			if c.body == "" {
				header.Del("Content-Type")
			}
			status, said := send(t, d, c.method, c.path, c.body, header, c.header)
			if status != c.want {
				t.Fatalf("status %d, want %d: %.300s", status, c.want, said)
			}
			var problem struct {
				OK          *bool
				Error, Code string
			}
			if err := json.Unmarshal(said, &problem); err != nil {
				t.Fatalf("%v in %.300s", err, said)
			}
			if problem.OK == nil || *problem.OK || problem.Error == "" || problem.Code == "" {
				t.Errorf("answer %s, want ok false, an error and a code", said)
			}
		})
	}
	if n := len(u.asked()); n != asked {
		t.Errorf("%d runs were started", n-asked)
	}
	nothingLost(t, d)
}

// send is a request whose headers a case may replace.
func send(t *testing.T, d *door, method, path, body string, header http.Header, replace map[string]string) (status int, said []byte) {
	t.Helper()
	req, err := http.NewRequest(method, d.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer "+d.token)
	for name, value := range replace {
		req.Header.Set(name, value)
	}
	res, err := d.do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	said, err = io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		t.Errorf("content type %q, want JSON", kind)
	}
	return res.StatusCode, said
}

func nothingLost(t *testing.T, d *door) {
	t.Helper()
	var list struct{ Chats []struct{ ID, Title string } }
	d.call(t, "GET", "/chats", nil, &list)
	if len(list.Chats) != 1 || list.Chats[0].ID != "kept" || list.Chats[0].Title != "Hello" {
		t.Errorf("chats %+v, want the one that was there", list.Chats)
	}
	c := d.conversation(t, "kept")
	if len(c.Messages) != 2 || c.Messages[0].Content != "Hello" || c.Messages[1].Content != "Fine." {
		t.Errorf("messages %+v, want the two that were there", c.Messages)
	}
}
