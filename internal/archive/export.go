package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"verbatim/internal/blob"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// Export writes conversations to w, in the order of their ids: those that are
// named, or all that have rows when conversations is nil. A conversation is
// written as it is when its turn comes; what is deleted, though it may still be
// restored, is written as the tombstone that its erasure would leave. Memory does
// not grow with what is written.
//
// Errors: ErrMissing before anything was written; those of the log, of the blobs
// and of w, after which w holds a file without an end.
func (a *Archive) Export(ctx context.Context, w io.Writer, conversations []id.Conversation) error {
	names, err := a.names(ctx, conversations)
	if err != nil {
		return err
	}
	out := newWriter(w)
	if err := out.json(headerLine{format, version}); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	written := 0
	for _, c := range names {
		shown, err := a.exportOne(ctx, out, c)
		if err != nil {
			return fmt.Errorf("export conversation %s: %w", c, err)
		}
		if shown {
			written++
		}
	}
	if err := out.json(totalLine{written, hexSum(out.whole)}); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	if err := out.out.Flush(); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}

// names returns the conversations to write, sorted, each once.
func (a *Archive) names(ctx context.Context, wanted []id.Conversation) ([]id.Conversation, error) {
	if wanted != nil {
		for _, c := range wanted {
			state, err := a.outline(ctx, c)
			if err != nil {
				return nil, fmt.Errorf("look conversation %s up: %w", c, err)
			}
			if len(state.Rows()) == 0 {
				return nil, fmt.Errorf("%w: %s", ErrMissing, c)
			}
		}
		names := slices.Clone(wanted)
		slices.Sort(names)
		return slices.Compact(names), nil
	}
	var names []id.Conversation
	var q turnlog.Query
	for {
		page, err := a.log.Conversations(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("list conversations: %w", err)
		}
		for _, info := range page {
			names = append(names, info.Conversation)
			q.Before = turnlog.Place{Updated: info.Updated, Key: info.Key}
		}
		if len(page) < turnlog.MaxConversations {
			slices.Sort(names)
			return slices.Compact(names), nil
		}
	}
}

// outline folds a conversation without its text.
func (a *Archive) outline(ctx context.Context, c id.Conversation) (*transcript.Conversation, error) {
	state := &transcript.Conversation{ID: c}
	for {
		records, err := a.log.Facts(ctx, c, state.Seq, turnlog.Limit{})
		if err != nil || len(records) == 0 {
			return state, err
		}
		for _, r := range records {
			if err := state.Apply(r); err != nil {
				return nil, err
			}
		}
	}
}

// exportOne writes a conversation; nothing when it was deleted meanwhile.
func (a *Archive) exportOne(ctx context.Context, out *writer, c id.Conversation) (shown bool, err error) {
	v, err := a.view(ctx, c)
	if err != nil || v == nil {
		return false, err
	}
	out.piece.Reset()
	if err := out.json(openLine{c}); err != nil {
		return false, err
	}
	records, seen := 0, map[string]bool{}
	var line []byte
	for r, err := range v.records(ctx, a.log) {
		if err != nil {
			return false, err
		}
		if err := a.exportBlobs(out, r, seen); err != nil {
			return false, err
		}
		line = r.AppendJSON(line[:0])
		if len(line) >= MaxLine {
			return false, fmt.Errorf("record %d is longer than a line may be", r.Seq)
		}
		if err := out.line(line); err != nil {
			return false, err
		}
		records++
	}
	return true, out.json(closeLine{c, records, hexSum(out.piece)})
}

// exportBlobs writes the blobs of a record that were not written yet.
func (a *Archive) exportBlobs(out *writer, r event.Record, seen map[string]bool) error {
	names, err := blobsOf(r)
	if err != nil {
		return err
	}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		if err := a.exportBlob(out, name); err != nil {
			return fmt.Errorf("blob %s: %w", name, err)
		}
	}
	return nil
}

func (a *Archive) exportBlob(out *writer, name string) error {
	f, size, err := a.blobs.Open(name)
	if errors.Is(err, blob.ErrMissing) {
		return out.json(blobLine{Blob: name, Missing: true})
	}
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if n, err := io.Copy(h, f); err != nil || n != size {
		return errors.Join(err, fmt.Errorf("%d of %d bytes could be read", n, size))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := out.json(blobLine{Blob: name, Size: size, SHA256: hexSum(h)}); err != nil {
		return err
	}
	chunk := make([]byte, chunkBytes)
	for size > 0 {
		piece := chunk[:min(size, chunkBytes)]
		if _, err := io.ReadFull(f, piece); err != nil {
			return err
		}
		if err := out.json(dataLine{piece}); err != nil {
			return err
		}
		size -= int64(len(piece))
	}
	return nil
}

// blobsOf returns the blobs that a record refers to.
func blobsOf(r event.Record) (names []string, err error) {
	var files []event.Attachment
	switch r.Kind {
	case event.UserMessage{}.Kind(), event.ToolResult{}.Kind(), event.Queue{}.Kind():
	default:
		return nil, nil
	}
	e, err := r.Event()
	if err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case event.UserMessage:
		files = e.Attachments
	case event.Queue:
		if e.Message != nil {
			files = e.Message.Attachments
		}
	case event.ToolResult:
		if e.Blob != "" {
			return []string{e.Blob}, nil
		}
	}
	for _, f := range files {
		if f.Blob != "" {
			names = append(names, f.Blob)
		}
	}
	return names, nil
}
