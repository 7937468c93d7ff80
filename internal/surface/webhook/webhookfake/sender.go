package webhookfake

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"verbatim/internal/surface"
)

// Answer is what a sender was told.
type Answer struct {
	Status int
	Body   string
}

// Reach sets what answers POST /hooks/<name>.
func (f *Far) Reach(hook http.Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Answers returns what the sender was told, oldest first.
func (f *Far) Answers() []Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Answer(nil), f.acks...)
}

// tries is how often the sender tries a message, a second apart at first and
// then twice as long each time.
const tries = 6

// Say sends m in the thread m.Chat.ID, signed anew for each try, until it is
// taken. With an m.ID that was sent before it is that message, byte for byte.
func (f *Far) Say(m surface.Message) string {
	id, body := f.write(m)
	for i := range tries {
		if i > 0 {
			<-time.After(time.Second << (i - 1))
		}
		if f.post(body) == http.StatusAccepted {
			break
		}
	}
	return id
}

func (f *Far) write(m surface.Message) (id string, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if body, ok := f.sent[m.ID]; ok {
		return m.ID, body
	}
	id = m.ID
	if id == "" {
		id = fmt.Sprintf("m%d", len(f.sent)+1)
	}
	type file struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	var files []file
	for _, x := range m.Files {
		files = append(files, file{x.Name, "data:" + x.MIME + ";base64," + base64.StdEncoding.EncodeToString(x.Data)})
	}
	body, err := json.Marshal(struct {
		ID          string `json:"id"`
		Text        string `json:"text"`
		Thread      string `json:"thread,omitempty"`
		Sender      string `json:"sender,omitempty"`
		Attachments []file `json:"attachments,omitempty"`
	}{id, m.Text, m.Chat.ID, m.Sender.ID, files})
	if err != nil {
		panic("webhookfake: " + err.Error())
	}
	f.sent[id] = body
	return id, body
}

// post sends a body once and returns the status of the answer.
func (f *Far) post(body []byte) int {
	r, err := http.NewRequest(http.MethodPost, "/hooks/fake", bytes.NewReader(body))
	if err != nil {
		panic("webhookfake: " + err.Error())
	}
	r.Header = f.Signed(body, time.Now())
	f.mu.Lock()
	hook := f.hook
	f.mu.Unlock()
	a := answered{header: http.Header{}}
	hook.ServeHTTP(&a, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acks = append(f.acks, Answer{a.status, a.body.String()})
	return a.status
}

// Signed returns the headers of a JSON body that is sent at a time.
func (f *Far) Signed(body []byte, at time.Time) http.Header {
	seconds := strconv.FormatInt(at.Unix(), 10)
	return http.Header{
		"Content-Type":         {"application/json"},
		"X-Verbatim-Timestamp": {seconds},
		"X-Verbatim-Signature": {"v1=" + hex.EncodeToString(mac(f.opt.SenderSecret, seconds+"."+string(body)))},
	}
}

// answered keeps an answer.
type answered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answered) Header() http.Header { return a.header }

func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answered) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}
