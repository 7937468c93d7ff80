package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/config"
	"verbatim/internal/llm"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// Finding is what one check of Diagnose found.
type Finding struct {
	// What names the thing that was looked at.
	What string
	// OK reports that it is as it should be.
	OK bool
	// Detail says what was found, and what to do if it is not OK.
	Detail string
}

// modelPatience is how long the model may take for its first token.
const modelPatience = 30 * time.Second

// Diagnose looks at the data directory, the database, the model (by one token)
// and the clock. It changes nothing that a start would not change. A server
// that runs over the directory keeps the database, which is not looked into
// then.
func Diagnose(ctx context.Context, cfg config.Config, opt Options) []Finding {
	d := &diagnosis{cfg: cfg, opt: opt, settings: &chat.Settings{Store: nothing{}, Defaults: settingDefaults(cfg)}}
	d.directory()
	d.permissions()
	d.database(ctx)
	d.model(ctx)
	d.clock()
	if d.db != nil {
		d.add("database closed", d.db.Close(), "")
	}
	return d.findings
}

type diagnosis struct {
	cfg      config.Config
	opt      Options
	db       *store.DB
	settings *chat.Settings
	newest   time.Time // of what is stored, zero for nothing
	findings []Finding
}

// add notes a finding: the error's words when there is one.
func (d *diagnosis) add(what string, err error, fine string) {
	if err != nil {
		fine = err.Error()
	}
	if err == nil && fine == "" {
		return
	}
	d.findings = append(d.findings, Finding{What: what, OK: err == nil, Detail: fine})
}

func (d *diagnosis) directory() {
	info, err := os.Stat(d.cfg.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.add("data directory", nil, d.cfg.Data+" is not there yet; the first start makes it")
		return
	case err != nil:
		d.add("data directory", fmt.Errorf("%w; name another with --data", err), "")
		return
	case !info.IsDir():
		d.add("data directory", fmt.Errorf("%s is a file; name a directory with --data", d.cfg.Data), "")
		return
	}
	f, err := os.CreateTemp(d.cfg.Data, "doctor*")
	if err != nil {
		d.add("data directory", fmt.Errorf("nothing can be written: %w; check its owner and mode", err), "")
		return
	}
	d.add("data directory", errors.Join(f.Close(), os.Remove(f.Name())), d.cfg.Data+" can be written")
}

// permissions looks for files that hold a secret or text and that others on
// this machine can read.
func (d *diagnosis) permissions() {
	for _, name := range []string{tokenName, "verbatim.db", config.FileName} {
		path := filepath.Join(d.cfg.Data, name)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if name == config.FileName && d.cfg.APIKey == "" {
			continue
		}
		d.add("permissions", fmt.Errorf("%s can be read by others; run: chmod 600 %s", path, path), "")
		return
	}
	d.add("permissions", nil, "nobody else can read the token and the database")
}

func (d *diagnosis) database(ctx context.Context) {
	if _, err := os.Stat(filepath.Join(d.cfg.Data, "verbatim.db")); err != nil {
		d.add("database", nil, "there is none yet; the first start makes it")
		return
	}
	db, err := store.Open(d.cfg.Data, store.Options{Logger: slog.New(slog.DiscardHandler), BallastBytes: -1})
	if errors.Is(err, store.ErrInUse) {
		d.underServer(ctx)
		return
	}
	if err != nil {
		d.add("database", err, "")
		return
	}
	d.db = db
	d.settings.Store = db
	newest, err := db.Conversations(ctx, turnlog.Query{Limit: 1})
	if len(newest) > 0 {
		d.newest = time.UnixMilli(newest[0].Updated)
	}
	d.add("database", err, "it opens and can be read")
}

// underServer asks the server that has the database.
func (d *diagnosis) underServer(ctx context.Context) {
	if _, err := Connect(ctx, d.cfg.Data); err != nil {
		d.add("database", errors.New("another process has the data directory, but no server answers; wait for it to end, or stop it"), "")
		return
	}
	d.add("database", nil, "a running server has it, and answers")
}

// model asks for one token, by the same choice as a run.
func (d *diagnosis) model(ctx context.Context) {
	m := &models{settings: d.settings, env: d.opt.Env, idle: d.cfg.IdleTimeout, log: d.opt.Logger}
	if err := m.begin(ctx); err != nil {
		d.add("model", err, "")
		return
	}
	choice, err := m.choose(ctx, chat.Want{})
	if err != nil {
		d.add("model", err, "")
		return
	}
	d.add("model", firstWord(ctx, choice), choice.Name+" answers")
	d.add("model", m.close(), "")
}

func firstWord(ctx context.Context, c chat.Choice) error {
	ctx, cancel := context.WithTimeout(ctx, modelPatience)
	defer cancel()
	req := c.Request
	one := int64(1)
	req.MaxTokens = &one
	req.Messages = []llm.Message{{Role: llm.RoleUser, Text: "Say yes."}}
	for _, err := range c.Model.Stream(ctx, req) {
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("%s said nothing within %s; check base_url and the network", c.Name, modelPatience)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		return nil
	}
	return fmt.Errorf("%s ended without a word", c.Name)
}

// clock finds a clock that was set back behind what is stored, or never set.
func (d *diagnosis) clock() {
	now := time.Now()
	switch {
	case now.Before(earliest()):
		d.add("clock", fmt.Errorf("it says %s, which is before this program was written; set it", now.Format(time.RFC3339)), "")
	case now.Add(time.Minute).Before(d.newest):
		d.add("clock", fmt.Errorf("it says %s, but the newest message is of %s; set it", now.Format(time.RFC3339), d.newest.Format(time.RFC3339)), "")
	default:
		d.add("clock", nil, now.Format(time.RFC3339))
	}
}

// earliest is a day on which this version can't have run.
func earliest() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// nothing is a store of settings that holds none.
type nothing struct{}

func (nothing) Settings(context.Context) (map[string]string, error) { return nil, nil }

func (nothing) SetSettings(context.Context, map[string]*string) error {
	return errors.New("there is no database")
}
