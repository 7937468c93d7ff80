package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/blob"
	"verbatim/internal/netguard"
	"verbatim/internal/tool"
	"verbatim/internal/turnlog"
)

// openWork makes what runs act with: the tools of the workspace, the desk where
// they ask, the place for long outputs and attachments.
func (a *App) openWork(context.Context) error {
	blobs, err := blob.Open(filepath.Join(a.cfg.Data, "blobs"))
	if err != nil {
		return err
	}
	a.blobs = blobs
	workspace := a.cfg.Workspace
	if workspace == "" {
		if workspace, err = os.Getwd(); err != nil {
			return fmt.Errorf("find the workspace: %w; name a folder with --workspace", err)
		}
	}
	a.tools, err = tool.Open(tool.Config{
		Workspace: workspace,
		Command:   tool.CommandConfig{Environment: a.cfg.CommandEnvironment},
		Fetch: tool.FetchConfig{
			Dialer: &netguard.Dialer{Allow: a.cfg.FetchAllow}, UserAgent: "Verbatim/" + Version,
		},
	})
	if err != nil {
		return err
	}
	a.onFailure(a.tools.Close)
	a.desk = approval.New(approval.Options{Store: a.log, Rules: a.db, Policy: a.policy, Logger: a.opt.Logger})
	return nil
}

// sweepBlobs removes what a crash left without an owner, before anything new is
// stored.
func (a *App) sweepBlobs(ctx context.Context) error {
	var failed error
	n, err := a.blobs.Sweep(func(name string) bool {
		used, err := a.db.BlobInUse(ctx, name)
		failed = errors.Join(failed, err)
		return used || err != nil
	})
	if n > 0 {
		a.opt.Logger.Info("removed files that nothing refers to", "count", n)
	}
	return errors.Join(failed, err)
}

// attachments keeps the files of messages, and tells a full disk as the log does.
type attachments struct{ *blob.Store }

// Put stores data and returns its new name once it is durable.
func (s attachments) Put(ctx context.Context, data []byte) (string, error) {
	name, err := s.Store.Put(ctx, data)
	if errors.Is(err, blob.ErrFull) {
		err = fmt.Errorf("%w: %w", turnlog.ErrFull, err)
	}
	return name, err
}

// spool begins the place of a tool output that is too long to be shown.
func (a *App) spool() (tool.Spool, error) { return a.blobs.Create() }

// policy is what the settings of now say about approvals. When they can't be
// read, people are asked.
func (a *App) policy(ctx context.Context) (approval.Mode, time.Duration) {
	var mode approval.Mode
	var seconds int64
	err := a.models.settings.Value(ctx, "approval_mode", &mode)
	err = errors.Join(err, a.models.settings.Value(ctx, "approval_timeout", &seconds))
	if err != nil {
		a.opt.Logger.Error("read the settings of approvals", "err", err)
		return approval.ModeAsk, approval.DefaultTimeout
	}
	return mode, time.Duration(seconds) * time.Second
}
