// Command relay is the floor for a token's way: a relay that decodes each event
// of a model's stream, encodes it again, and appends it to one file with
// fdatasync before it forwards it. It has no protocol of its own, no
// authentication and no index.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"

	"verbatim/bench/internal/machine"
	"verbatim/bench/internal/upstream"
)

func main() {
	base := flag.String("upstream", "", "the model server, as http://host:port")
	path := flag.String("file", "relay.log", "the file that events are appended to")
	flag.Parse()
	upstream.Exit(machine.RaiseFileLimit())
	f, err := create(*path)
	upstream.Exit(err)
	go func() { upstream.Exit(f.write()) }()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000, DisableCompression: true}}
	upstream.Exit(upstream.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		relay(w, r, client, *base, f)
	})))
}

// relay reads the request whole before it answers, because net/http closes the
// request's body once an answer has begun.
func relay(w http.ResponseWriter, r *http.Request, client *http.Client, base string, f *file) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	in, err := upstream.Call(r.Context(), client, base, bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer in.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	if rc.Flush() != nil {
		return
	}
	var out []byte
	err = upstream.Read(in, func(c upstream.Chunk) error {
		b, err := json.Marshal(c)
		if err != nil {
			return err
		}
		if err := f.Append(append(b, '\n')); err != nil {
			return err
		}
		out = append(append(append(out[:0], "data: "...), b...), "\n\n"...)
		if _, err := w.Write(out); err != nil {
			return err
		}
		return rc.Flush()
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	io.WriteString(w, "data: [DONE]\n\n")
}
