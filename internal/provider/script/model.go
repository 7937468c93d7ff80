package script

import (
	"context"
	"io"
	"net/http"
	"sync"

	"verbatim/internal/provider/openai"
)

// Model plays a script without a network. Its answers go through the same
// encoding and decoding as a real provider's.
type Model struct {
	*openai.Model
	transport *pipe
}

// New returns a model that plays s. Its connections are goroutines, which end
// with their streams; Close waits for them.
func New(s *Script) (*Model, error) {
	t := &pipe{handler: Handler(s)}
	m, err := openai.New(openai.Config{BaseURL: "http://script.invalid/v1", Transport: t})
	if err != nil {
		return nil, err
	}
	return &Model{Model: m, transport: t}, nil
}

// Close waits for the streams to end.
func (m *Model) Close() error {
	m.transport.running.Wait()
	return m.Model.Close()
}

// pipe carries requests to a handler in this process.
type pipe struct {
	handler http.Handler
	running sync.WaitGroup
}

// RoundTrip implements http.RoundTripper.
func (t *pipe) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	reader, writer := io.Pipe()
	w := &pipeWriter{header: http.Header{}, writer: writer, head: make(chan *http.Response, 1)}
	body := &pipeBody{PipeReader: reader, cancel: cancel, done: make(chan struct{})}
	body.release = context.AfterFunc(ctx, func() { reader.CloseWithError(context.Cause(ctx)) })
	t.running.Go(func() {
		defer close(body.done)
		w.serve(t.handler, r.Clone(ctx))
	})
	select {
	case resp := <-w.head:
		resp.Request, resp.Body = r, body
		return resp, nil
	case <-ctx.Done():
		_ = body.Close()
		return nil, context.Cause(ctx)
	}
}

// pipeBody is the body of an answer. Closing it ends the handler.
type pipeBody struct {
	*io.PipeReader
	cancel  context.CancelFunc
	release func() bool
	done    chan struct{}
}

func (b *pipeBody) Close() error {
	b.release()
	b.cancel()
	err := b.PipeReader.Close()
	<-b.done
	return err
}

// pipeWriter is the handler's side.
type pipeWriter struct {
	header http.Header
	writer *io.PipeWriter
	head   chan *http.Response
	begun  bool
}

// serve runs the handler and ends the answer as a server would: a handler that
// aborts breaks it off.
func (w *pipeWriter) serve(h http.Handler, r *http.Request) {
	end := io.ErrUnexpectedEOF
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p)
		}
		w.WriteHeader(http.StatusOK)
		w.writer.CloseWithError(end)
	}()
	defer r.Body.Close()
	h.ServeHTTP(w, r)
	end = io.EOF
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	if w.begun {
		return
	}
	w.begun = true
	w.head <- &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header.Clone(), ContentLength: -1,
	}
}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.writer.Write(b)
}
