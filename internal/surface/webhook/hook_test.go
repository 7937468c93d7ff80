package webhook

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
)

// receiver is a surface that only takes messages, at the new year.
func receiver(t *testing.T, set func(k *keys)) (surface.Hook, *surfacetest.Inbox) {
	t.Helper()
	k := Platform.Keys().(*keys)
	k.Secret = inSecret
	if set != nil {
		set(k)
	}
	h, ok := build(t, k, func(s *surface.Setup) { s.Now = func() time.Time { return newYear } }).(surface.Hook)
	if !ok {
		t.Fatal("it is no Hook")
	}
	return h, &surfacetest.Inbox{}
}

// post makes a request, signed our way at a time.
func post(body string, at time.Time, header ...string) *http.Request {
	seconds := strconv.FormatInt(at.Unix(), 10)
	r := httptest.NewRequest(http.MethodPost, "/hooks/alerts", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Verbatim-Timestamp", seconds)
	r.Header.Set("X-Verbatim-Signature", "v1="+hex.EncodeToString(sum([]byte(inSecret), seconds+".", []byte(body))))
	for i := 0; i < len(header); i += 2 {
		r.Header.Del(header[i])
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	return r
}

// asked returns the status and the body of an answer, which must be JSON and, if
// it refuses, an error with a sentence.
func asked(t *testing.T, h surface.Hook, in surface.Inbox, r *http.Request) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHook(w, r, in)
	body = w.Body.String()
	if w.Code == http.StatusNoContent {
		return w.Code, body
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("the content type is %q", got)
	}
	var all map[string]string
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Errorf("the answer is %q: %v", body, err)
	}
	if w.Code >= 300 && (len(all) != 1 || !strings.Contains(all["error"], " ")) {
		t.Errorf("the answer %d is %q", w.Code, body)
	}
	for _, secret := range []string{inSecret, outSecret} {
		if strings.Contains(body, secret) {
			t.Error("a secret is in the answer")
		}
	}
	return w.Code, body
}

func TestAMessageIsTakenAsItWasWritten(t *testing.T) {
	t.Parallel()
	h, in := receiver(t, nil)
	body := `{"id":"m1","text":"  two\n\tlines é😀 ","thread":"t-9","sender":"u1","attachments":[` +
		`{"name":"a.txt","text":"as it is\n"},{"name":"b.bin","url":"data:image/PNG;base64,AAEC"},{"name":"c","url":"data:,a%20b"}],"more":{}}`
	status, answer := asked(t, h, in, post(body, newYear))
	if status != http.StatusAccepted || answer != `{"delivery_id":"d0","conversation":"c.t-9","run_id":"r0"}` {
		t.Fatalf("the answer is %d %s", status, answer)
	}
	m := in.Taken()[0]
	if m.ID != "m1" || m.Text != "  two\n\tlines é😀 " || m.Chat != (surface.Chat{ID: "t-9"}) || m.Sender.ID != "u1" || m.Sender.Name != "u1" {
		t.Errorf("the message is %+v", m)
	}
	if !m.Signed || !m.Direct || !m.At.Equal(newYear) {
		t.Errorf("signed %t, direct %t, at %v", m.Signed, m.Direct, m.At)
	}
	if m.Fields["thread"] != "t-9" || m.Fields["sender"] != "u1" || m.Fields["id"] != "m1" {
		t.Errorf("the fields are %v", m.Fields)
	}
	want := []surface.File{
		{Name: "a.txt", MIME: "text/plain", Data: []byte("as it is\n")},
		{Name: "b.bin", MIME: "image/png", Data: []byte{0, 1, 2}},
		{Name: "c", MIME: "text/plain", Data: []byte("a b")},
	}
	for i, f := range m.Files {
		if f.Name != want[i].Name || f.MIME != want[i].MIME || !bytes.Equal(f.Data, want[i].Data) {
			t.Errorf("file %d is %+v, not %+v", i, f, want[i])
		}
	}
}

func TestTheSameMessageGetsTheSameAnswer(t *testing.T) {
	t.Parallel()
	h, in := receiver(t, nil)
	const body = `{"id":"m1","text":"x"}`
	_, first := asked(t, h, in, post(body, newYear))
	status, again := asked(t, h, in, post(body, newYear.Add(100*time.Second)))
	if status != http.StatusAccepted || again != first {
		t.Errorf("the answer is %d %s, and was %s", status, again, first)
	}
	if taken := in.Taken(); len(taken) != 1 || taken[0].Chat.ID != "default" {
		t.Errorf("taken were %+v", taken)
	}
}

func TestWhatIsNotSignedIsNotTaken(t *testing.T) {
	t.Parallel()
	const body = `{"id":"m1","text":"hello"}`
	// Made by another program than this one.
	const known = "v1=db06861daabb7a730c320b98488ea023207068cb4101062a2a2a7c3f7bf61edc"
	two := post(body, newYear)
	two.Header.Add("X-Verbatim-Signature", two.Header.Get("X-Verbatim-Signature"))
	for name, c := range map[string]struct {
		r    *http.Request
		want int
	}{
		"a signature made elsewhere":    {post(body, newYear, "X-Verbatim-Signature", known), 202},
		"300 s old":                     {post(body, newYear.Add(-300*time.Second)), 202},
		"300 s early":                   {post(body, newYear.Add(300*time.Second)), 202},
		"301 s old":                     {post(body, newYear.Add(-301*time.Second)), 401},
		"301 s early":                   {post(body, newYear.Add(301*time.Second)), 401},
		"no signature":                  {post(body, newYear, "X-Verbatim-Signature", ""), 401},
		"no time":                       {post(body, newYear, "X-Verbatim-Timestamp", ""), 401},
		"another time":                  {post(body, newYear, "X-Verbatim-Timestamp", "1767225601"), 401},
		"the time with a sign":          {post(body, newYear, "X-Verbatim-Timestamp", "+1767225600"), 401},
		"the time with a fraction":      {post(body, newYear, "X-Verbatim-Timestamp", "1767225600.0"), 401},
		"a time that is no number":      {post(body, newYear, "X-Verbatim-Timestamp", "now"), 401},
		"a time out of bounds":          {post(body, newYear, "X-Verbatim-Timestamp", "99999999999999999999"), 401},
		"without its version":           {post(body, newYear, "X-Verbatim-Signature", known[3:]), 401},
		"another version":               {post(body, newYear, "X-Verbatim-Signature", "v2"+known[2:]), 401},
		"half a signature":              {post(body, newYear, "X-Verbatim-Signature", known[:35]), 401},
		"an empty signature":            {post(body, newYear, "X-Verbatim-Signature", "v1="), 401},
		"a signature beyond ASCII":      {post(body, newYear, "X-Verbatim-Signature", "v1=é"+known[5:]), 401},
		"a time beyond ASCII":           {post(body, newYear, "X-Verbatim-Timestamp", "١٧٦٧٢٢٥٦٠٠"), 401},
		"a signature that is not UTF-8": {post(body, newYear, "X-Verbatim-Signature", "v1=\xff"), 401},
		"two signatures":                {two, 401},
		"another body":                  {signedAs(post(`{"id":"m1","text":"other"}`, newYear), post(body, newYear)), 401},
		"another way of signing":        {post(body, newYear, "X-Verbatim-Signature", "", "X-Hub-Signature-256", "sha256="+known[3:]), 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, in := receiver(t, nil)
			status, answer := asked(t, h, in, c.r)
			if status != c.want || len(in.Taken()) != map[bool]int{true: 1}[c.want == 202] {
				t.Errorf("the answer is %d %s, and %d were taken", status, answer, len(in.Taken()))
			}
		})
	}
}

// signedAs gives a request the headers of another one.
func signedAs(r, other *http.Request) *http.Request {
	r.Header = other.Header
	return r
}

func TestARequestThatIsNotMeantForUs(t *testing.T) {
	t.Parallel()
	h, in := receiver(t, func(k *keys) { k.Secret = ""; k.Deliver.URL, k.Deliver.Secret = "https://far.example/", outSecret })
	if status, answer := asked(t, h, in, post(`{"id":"m1","text":"x"}`, newYear)); status != 404 || !strings.Contains(answer, "not configured for inbound") {
		t.Errorf("without a secret the answer is %d %s", status, answer)
	}
	h, in = receiver(t, nil)
	r := post(`{"id":"m1","text":"x"}`, newYear)
	r.Method = http.MethodPut
	if status, _ := asked(t, h, in, r); status != 405 {
		t.Errorf("a PUT is answered by %d", status)
	}
	in.Fail(1)
	r = post(`{"id":"m1","text":"x"}`, newYear)
	if status, answer := asked(t, h, in, r); status != 503 || !strings.Contains(answer, "send it again") {
		t.Errorf("what can't be stored is answered by %d %s", status, answer)
	}
	if len(in.Taken()) != 0 {
		t.Error("it was taken")
	}
}

func TestABodyThatCantBeRead(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 2<<20+1)
	six := strings.Repeat(`{"name":"a","text":"b"},`, 6)
	for name, c := range map[string]struct {
		body, kind string
		want       int
		says       string
	}{
		"no JSON":                     {`hello`, "", 400, "JSON"},
		"a list":                      {`[]`, "", 400, "JSON"},
		"null":                        {`null`, "", 400, "JSON"},
		"empty":                       {``, "", 400, "JSON"},
		"two objects":                 {`{"id":"1","text":"x"}{}`, "", 400, "after"},
		"not UTF-8":                   {"{\"id\":\"1\",\"text\":\"\xff\"}", "", 400, "UTF-8"},
		"no id":                       {`{"text":"x"}`, "", 400, "id is missing"},
		"an empty id":                 {`{"id":"","text":"x"}`, "", 400, "id is missing"},
		"an id that is a list":        {`{"id":[1],"text":"x"}`, "", 400, "id must be text"},
		"an id that is too long":      {`{"id":"` + strings.Repeat("x", 513) + `","text":"x"}`, "", 413, "id is longer"},
		"no text":                     {`{"id":"1"}`, "", 400, "text is missing"},
		"blank text":                  {`{"id":"1","text":" \n"}`, "", 400, "text is missing"},
		"text that is an object":      {`{"id":"1","text":{}}`, "", 400, "text must be text"},
		"text that is too long":       {`{"id":"1","text":"` + big[:1<<20+1] + `"}`, "", 413, "text is longer"},
		"a thread that is an object":  {`{"id":"1","text":"x","thread":{}}`, "", 400, "thread"},
		"a sender that is an object":  {`{"id":"1","text":"x","sender":{}}`, "", 400, "sender"},
		"attachments that are text":   {`{"id":"1","text":"x","attachments":"a"}`, "", 400, "attachments"},
		"six attachments":             {`{"id":"1","text":"x","attachments":[` + six[:len(six)-1] + `]}`, "", 413, "at most 5"},
		"an attachment of nothing":    {`{"id":"1","text":"x","attachments":[{"name":"a"}]}`, "", 400, "attachments[0]"},
		"an attachment of both":       {`{"id":"1","text":"x","attachments":[{"name":"a","text":"b","url":"data:,"}]}`, "", 400, "attachments[0]"},
		"an attachment without name":  {`{"id":"1","text":"x","attachments":[{"name":"a","text":"b"},{"text":"b"}]}`, "", 400, "attachments[1]"},
		"an attachment that is text":  {`{"id":"1","text":"x","attachments":["a"]}`, "", 400, "attachments[0]"},
		"an attachment far away":      {`{"id":"1","text":"x","attachments":[{"name":"a","url":"https://far.example/"}]}`, "", 400, "data:"},
		"an attachment without comma": {`{"id":"1","text":"x","attachments":[{"name":"a","url":"data:text/plain"}]}`, "", 400, "data:"},
		"an attachment of bad base64": {`{"id":"1","text":"x","attachments":[{"name":"a","url":"data:;base64,???"}]}`, "", 400, "data:"},
		"an attachment of bad escape": {`{"id":"1","text":"x","attachments":[{"name":"a","url":"data:,%zz"}]}`, "", 400, "data:"},
		"a large attachment":          {`{"id":"1","text":"x","attachments":[{"name":"a","text":"` + big + `"}]}`, "", 413, "2 MiB"},
		"no content type":             {`{"id":"1","text":"x"}`, "-", 415, "content type"},
		"another content type":        {`{"id":"1","text":"x"}`, "text/plain", 415, "content type"},
		"a form of parts":             {`--a`, "multipart/form-data; boundary=a", 415, "content type"},
		"a broken form":               {`id=%zz`, "application/x-www-form-urlencoded", 400, "form"},
		"a form that is not UTF-8":    {`id=1&text=%ff`, "application/x-www-form-urlencoded", 400, "UTF-8"},
		"a form without text":         {`id=1`, "application/x-www-form-urlencoded", 400, "text is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, in := receiver(t, nil)
			r := post(c.body, newYear)
			if c.kind != "" {
				r.Header.Set("Content-Type", strings.TrimPrefix(c.kind, "-"))
			}
			if status, answer := asked(t, h, in, r); status != c.want || !strings.Contains(answer, c.says) || len(in.Taken()) != 0 {
				t.Errorf("the answer is %d %s, not %d with %q", status, answer, c.want, c.says)
			}
		})
	}
}

func TestABodyThatIsCompressedIsRefused(t *testing.T) {
	t.Parallel()
	h, in := receiver(t, nil)
	if status, _ := asked(t, h, in, post(`{"id":"1","text":"x"}`, newYear, "Content-Encoding", "gzip")); status != 415 {
		t.Errorf("the answer is %d", status)
	}
}

// The bound holds whether the length is told beforehand or not. What is within it
// is read whole, and then its signature is wrong.
func TestABodyIsAtMost16MiB(t *testing.T) {
	t.Parallel()
	h, in := receiver(t, nil)
	for _, c := range []struct{ length, told, want int }{
		{16 << 20, -1, 401}, {16<<20 + 1, -1, 413}, {16<<20 + 1, 16<<20 + 1, 413},
	} {
		r := post("", newYear)
		r.Body, r.ContentLength = io.NopCloser(io.LimitReader(zeros{}, int64(c.length))), int64(c.told)
		if status, answer := asked(t, h, in, r); status != c.want {
			t.Errorf("%d bytes, told %d: the answer is %d %s", c.length, c.told, status, answer)
		}
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// Nobody makes us read 16 MiB without a key: what the headers tell is enough to
// refuse.
func TestABodyIsNotReadWithoutNeed(t *testing.T) {
	t.Parallel()
	h, in := receiver(t, nil)
	r := post("", newYear.Add(-time.Hour))
	r.Body = io.NopCloser(unread{t})
	if status, _ := asked(t, h, in, r); status != 401 {
		t.Errorf("the answer is %d", status)
	}
}

func TestABodyThatBreaksOffIsRefused(t *testing.T) {
	t.Parallel()
	h, in := receiver(t, nil)
	r := post(`{"id":"1","text":"x"}`, newYear)
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":"1","text":"x"}`), brokenReader{}))
	if status, answer := asked(t, h, in, r); status != 400 || len(in.Taken()) != 0 {
		t.Errorf("the answer is %d %s", status, answer)
	}
}

func TestAFormIsTaken(t *testing.T) {
	t.Parallel()
	h, in := receiver(t, nil)
	r := post(`id=7&text=two+words%0A%20%20end&thread=t&sender=u&text=second`, newYear, "Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	if status, answer := asked(t, h, in, r); status != 202 {
		t.Fatalf("the answer is %d %s", status, answer)
	}
	if m := in.Taken()[0]; m.ID != "7" || m.Text != "two words\n  end" || m.Chat.ID != "t" || m.Sender.ID != "u" {
		t.Errorf("the message is %+v", m)
	}
}

const foreignBody = `{"action":"opened","issue":{"number":1347,"title":"It breaks","labels":[{"name":"bug"}],"user":{"login":"octocat"},"locked":false},` +
	`"sender":{"login":"hubot"},"a.b":"dotted","id":99}`

func TestAForeignBodyIsMapped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paths                    paths
		id, text, thread, sender string
		says                     string
	}{
		"all four":            {paths: paths{"issue.number", "issue.title", "issue.number", "issue.user.login"}, id: "1347", text: "It breaks", thread: "1347", sender: "octocat"},
		"an item of a list":   {paths: paths{Text: "issue.labels.0.name"}, id: "99", text: "bug", thread: "default"},
		"a truth value":       {paths: paths{Text: "issue.locked"}, id: "99", text: "false", thread: "default"},
		"a name with a dot":   {paths: paths{Text: "a.b"}, id: "99", text: "dotted", thread: "default"},
		"text is an object":   {paths: paths{Text: "issue.user"}, says: "text (at issue.user) must be text"},
		"no text there":       {paths: paths{Text: "issue.body"}, says: "text (at issue.body) is missing"},
		"no such item":        {paths: paths{Text: "issue.labels.1.name"}, says: "text (at issue.labels.1.name) is missing"},
		"nothing inside text": {paths: paths{Text: "action.x"}, says: "text (at action.x) is missing"},
		"no id there":         {paths: paths{ID: "x", Text: "action"}, says: "id (at x) is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, in := receiver(t, func(k *keys) { k.Map = c.paths })
			status, answer := asked(t, h, in, post(foreignBody, newYear))
			if c.says != "" {
				if status != 400 || !strings.Contains(answer, c.says) {
					t.Errorf("the answer is %d %s", status, answer)
				}
				return
			}
			if status != 202 {
				t.Fatalf("the answer is %d %s", status, answer)
			}
			m := in.Taken()[0]
			if m.ID != c.id || m.Text != c.text || m.Chat.ID != c.thread || m.Sender.ID != c.sender || m.Fields["thread"] != c.thread {
				t.Errorf("the message is %+v", m)
			}
		})
	}
}

func github256(body string) string {
	return "sha256=" + hex.EncodeToString(sum([]byte(inSecret), "", []byte(body)))
}

// M5: a signed call that is sent again is the same message, whatever its unsigned
// delivery id says.
func TestGitHubSigned(t *testing.T) {
	t.Parallel()
	// The example of GitHub's documentation.
	claim, err := github{key: []byte("It's a Secret to Everybody")}.proof(http.Header{
		"X-Hub-Signature-256": {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
	})
	if err != nil || !claim.good([]byte("Hello, World!")) || claim.good([]byte("Hello, World?")) {
		t.Errorf("the documented example is not taken: %v", err)
	}
	h, in := receiver(t, func(k *keys) { k.Signature = signedGitHub; k.Map = paths{Text: "issue.title", Thread: "issue.number"} })
	send := func(body, delivery, event string, more ...string) int {
		r := post(body, newYear, append([]string{
			"X-Verbatim-Signature", "", "X-Verbatim-Timestamp", "",
			"X-Hub-Signature-256", github256(body), "X-GitHub-Delivery", delivery, "X-GitHub-Event", event,
		}, more...)...)
		status, _ := asked(t, h, in, r)
		return status
	}
	form := "payload=" + url.QueryEscape(strings.Replace(foreignBody, "opened", "closed", 1))
	for _, step := range []struct {
		name        string
		got         int
		want, taken int
	}{
		{"a ping", send(`{"zen":"x"}`, "d0", "ping"), 204, 0},
		{"an issue", send(foreignBody, "d1", "issues"), 202, 1},
		{"the same, sent again", send(foreignBody, "d1", "issues"), 202, 1},
		{"the same, played again under another name", send(foreignBody, "d2", "issues"), 202, 1},
		{"another one", send(strings.Replace(foreignBody, "opened", "edited", 1), "d1", "issues"), 202, 2},
		{"a form", send(form, "d3", "issues", "Content-Type", "application/x-www-form-urlencoded"), 202, 3},
		{"a wrong signature", send(foreignBody, "d4", "issues", "X-Hub-Signature-256", github256("x")), 401, 3},
		{"a ping with a wrong signature", send(foreignBody, "d4", "ping", "X-Hub-Signature-256", github256("x")), 401, 3},
		{"no signature", send(foreignBody, "d4", "issues", "X-Hub-Signature-256", ""), 401, 3},
		{"the old signature alone", send(foreignBody, "d4", "issues", "X-Hub-Signature-256", "", "X-Hub-Signature", "sha1=00"), 401, 3},
	} {
		if step.got != step.want {
			t.Errorf("%s is answered by %d, not %d", step.name, step.got, step.want)
		}
	}
	var texts []string
	for _, m := range in.Taken() {
		texts = append(texts, m.Chat.ID+" "+m.Text)
	}
	if len(texts) != 3 || texts[0] != "1347 It breaks" {
		t.Errorf("taken were %q", texts)
	}
}

func TestSvixSigned(t *testing.T) {
	t.Parallel()
	// The example of the documentation of Standard Webhooks and of Svix.
	const secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`
	const id, at, known = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	const other = "v1,bm9ldHUjKzFob2VudXRob2VodWUzMjRvdWVvdW9ldQo="
	then := time.Unix(1614265330, 0)
	for name, c := range map[string]struct {
		now           time.Time
		id, at, claim string
		brand, secret string
		want          bool
	}{
		"as documented":         {then, id, at, known, "Webhook-", secret, true},
		"by Svix's own names":   {then, id, at, known, "Svix-", secret, true},
		"without whsec_":        {then, id, at, known, "Webhook-", secret[6:], true},
		"the second of several": {then, id, at, other + " " + known + " v1a,xx", "Webhook-", secret, true},
		"the first of several":  {then, id, at, known + " " + other, "Webhook-", secret, true},
		"300 s later":           {then.Add(300 * time.Second), id, at, known, "Webhook-", secret, true},
		"301 s later":           {then.Add(301 * time.Second), id, at, known, "Webhook-", secret, false},
		"301 s before":          {then.Add(-301 * time.Second), id, at, known, "Webhook-", secret, false},
		"another id":            {then, id + "x", at, known, "Webhook-", secret, false},
		"no id":                 {then, "", at, known, "Webhook-", secret, false},
		"another time":          {then, id, "1614265331", known, "Webhook-", secret, false},
		"another secret":        {then, id, at, known, "Webhook-", "whsec_AAAA", false},
		"another version":       {then, id, at, "v2" + known[2:], "Webhook-", secret, false},
		"only others":           {then, id, at, other, "Webhook-", secret, false},
		"no signature":          {then, id, at, "", "Webhook-", secret, false},
		"beyond ASCII":          {then, id, at, known + " é", "Webhook-", secret, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := newSigner(signedSvix, c.secret, func() time.Time { return c.now })
			if err != nil {
				t.Fatal(err)
			}
			claim, err := s.proof(http.Header{c.brand + "Id": {c.id}, c.brand + "Timestamp": {c.at}, c.brand + "Signature": {c.claim}})
			if got := err == nil && claim.good([]byte(body)); got != c.want {
				t.Errorf("it is taken: %t (%v)", got, err)
			}
		})
	}
}

func TestM5ASvixMessageIsNamedByItsSignedID(t *testing.T) {
	t.Parallel()
	key := []byte("a key of svix")
	h, in := receiver(t, func(k *keys) {
		k.Signature, k.Secret = signedSvix, "whsec_"+base64.StdEncoding.EncodeToString(key)
	})
	at := strconv.FormatInt(newYear.Unix(), 10)
	send := func(id, body string) int {
		r := post(body, newYear, "Webhook-Id", id, "Webhook-Timestamp", at,
			"Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sum(key, id+"."+at+".", []byte(body))))
		status, _ := asked(t, h, in, r)
		return status
	}
	if a, b, c := send("msg_1", `{"text":"x"}`), send("msg_1", `{"text":"x"}`), send("msg_2", `{"text":"x"}`); a != 202 || b != 202 || c != 202 {
		t.Errorf("the answers are %d, %d, %d", a, b, c)
	}
	if got := in.Taken(); len(got) != 2 || got[0].ID != "msg_1" || got[1].ID != "msg_2" {
		t.Errorf("taken were %+v", got)
	}
}
