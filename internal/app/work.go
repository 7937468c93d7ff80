package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	for _, host := range a.cfg.FetchAllow {
		if err := netguard.CheckAllow(host); err != nil {
			return fmt.Errorf("fetch_allow: %w", err)
		}
	}
	workspace, err := a.workspace()
	if err != nil {
		return err
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

// workspace returns the folder that the agent works in. The data directory is
// never inside it: its token and database are not the agent's to read. Where no
// folder is named and the one that the process was started in holds the data
// directory, as a home folder does, the agent gets a folder of its own.
func (a *App) workspace() (string, error) {
	named := a.cfg.Workspace
	folder := named
	if named == "" {
		var err error
		if folder, err = os.Getwd(); err != nil {
			return "", fmt.Errorf("find the workspace: %w; name a folder with --workspace", err)
		}
	}
	inside, err := holds(folder, a.cfg.Data)
	switch {
	case err != nil:
		return "", fmt.Errorf("the workspace can't be used: %w; name an existing folder with --workspace", err)
	case !inside:
		return folder, nil
	case named != "":
		return "", fmt.Errorf("the data directory %s is inside the workspace %s, where the agent could read the token; name another folder with --workspace", a.cfg.Data, named)
	}
	own := filepath.Join(a.cfg.Data, "workspace")
	if err := os.MkdirAll(own, 0o700); err != nil {
		return "", fmt.Errorf("make the workspace: %w", err)
	}
	return own, nil
}

// holds reports whether a folder is another, or has it somewhere inside.
func holds(folder, other string) (bool, error) {
	outer, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false, err
	}
	inner, err := filepath.EvalSymlinks(other)
	if err != nil {
		return false, err
	}
	if outer, err = filepath.Abs(outer); err != nil {
		return false, err
	}
	if inner, err = filepath.Abs(inner); err != nil {
		return false, err
	}
	way, err := filepath.Rel(outer, inner)
	return err == nil && way != ".." && !strings.HasPrefix(way, ".."+string(filepath.Separator)), nil
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
