package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
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
		{"attachments", "POST", "/chat", `{"prompt":"x","attachments":[{"name":"a","text":1}]}`, nil, 400},
		{"six attachments", "POST", "/chat", `{"prompt":"x","attachments":[` + strings.Repeat(`{"name":"a","text":"b"},`, 5) + `{"name":"a","text":"b"}]}`, nil, 400},
		{"attachment of no known kind", "POST", "/chat", `{"prompt":"x","attachments":[{"name":"a.png","url":"data:image/png;base64,AAECAwQF"}]}`, nil, 415},
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

// TestRefusalReachesWhoStillWrites: a client that sends all it has before it
// reads gets the whole refusal, although the program has long made up its mind.
func TestRefusalReachesWhoStillWrites(t *testing.T) {
	u := newUpstream(t, func(ask) []step { return []step{say("Fine."), finish("stop")} })
	p := startProduct(t, u)
	const asJSON = "Content-Type: application/json\r\n"
	key := "Authorization: Bearer " + p.token + "\r\n"
	for _, c := range []struct {
		name, line, header string
		chunked            bool
		want               int
	}{
		{"too large, by its length", "POST /chat HTTP/1.1", key + asJSON, false, 413},
		{"too large, in chunks", "POST /chat HTTP/1.1", key + asJSON, true, 413},
		{"too large, by an old client", "POST /chat HTTP/1.0", key + asJSON, false, 413},
		{"without the token", "POST /chat HTTP/1.1", asJSON, true, 401},
		{"to nowhere", "POST /nowhere HTTP/1.1", key + asJSON, true, 404},
		{"by another method", "PUT /chat HTTP/1.1", key + asJSON, true, 405},
		{"of another type", "POST /chat HTTP/1.1", key + "Content-Type: text/plain\r\n", true, 415},
		{"from a foreign page", "POST /chat HTTP/1.1", key + asJSON + "Origin: https://evil.example\r\n", true, 403},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.ready.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := writeMuch(conn, c.line+"\r\nHost: localhost\r\n"+c.header, c.chunked); err != nil {
				t.Fatal("not all could be sent: ", err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal("no answer: ", err)
			}
			defer res.Body.Close()
			said, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != c.want || !json.Valid(said) {
				t.Errorf("status %d, want %d: %q, %v", res.StatusCode, c.want, said, err)
			}
		})
	}
}

// writeMuch sends a request with a body of 40 MiB, and reads nothing.
func writeMuch(conn net.Conn, head string, chunked bool) error {
	const pieces, bytesEach = 40, 1 << 20
	piece := strings.Repeat("x", bytesEach)
	framing, last := fmt.Sprintf("Content-Length: %d\r\n\r\n", pieces*bytesEach), ""
	if chunked {
		framing, last = "Transfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n"
		piece = fmt.Sprintf("%x\r\n%s\r\n", bytesEach, piece)
	}
	if _, err := io.WriteString(conn, head+framing); err != nil {
		return err
	}
	for range pieces {
		if _, err := io.WriteString(conn, piece); err != nil {
			return err
		}
	}
	_, err := io.WriteString(conn, last)
	return err
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
