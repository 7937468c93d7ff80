package app

import (
	"context"

	"verbatim/internal/archive"
	"verbatim/internal/httpapi"
	"verbatim/internal/store"
)

// native adds what the native layer works with to the options of the door.
func (a *App) native(o httpapi.Options) httpapi.Options {
	o.Blobs, o.References = a.blobs, a.db
	o.Models, o.Answers = newCatalog(a.models), answers{a.db}
	o.Receipts, o.Hooks = a.surfaces.hub, a.surfaces
	o.Archive = archive.New(archive.Options{Log: a.log, Blobs: a.blobs})
	return o
}

// answers are kept in the database.
type answers struct{ db *store.DB }

// Answer implements httpapi.Answers.
func (s answers) Answer(ctx context.Context, key string) (httpapi.Answer, bool, error) {
	kept, ok, err := s.db.Answer(ctx, key)
	return httpapi.Answer(kept), ok, err
}

// KeepAnswer implements httpapi.Answers.
func (s answers) KeepAnswer(ctx context.Context, key string, a httpapi.Answer) error {
	return s.db.KeepAnswer(ctx, key, store.Answer(a))
}
