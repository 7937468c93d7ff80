// Package store is the SQLite database under the log: schema, transactions,
// indexes, settings, lock, ballast, backup.
//
// Guarantee: what Commit reported as written survives the end of the process
// and of the machine's power; a transaction is there whole or not at all; a
// process that a later one has replaced can write nothing. Not promised:
// anything about a disk that acknowledges a sync it has not made.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"

	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Names of the files in a data directory.
const (
	databaseName = "verbatim.db"
	lockName     = "lock"
	ballastName  = "ballast"
)

// Defaults and bounds.
const (
	// DefaultBallastBytes is kept free for closing runs on a full disk.
	DefaultBallastBytes = 8 << 20
	// DefaultRecentRows is what a start reads in a few milliseconds.
	DefaultRecentRows = 4096
	readers           = 4
	busyMillis        = 5000
)

// Options are the choices of an Open. The zero value is what the product uses.
type Options struct {
	// BallastBytes is the size of the ballast file; 0 means
	// DefaultBallastBytes, a negative value no ballast.
	BallastBytes int64
	// RecentRows bounds the table that records are first written to, in
	// rows; 0 means DefaultRecentRows. At least a quarter of it is moved at
	// once, and commits wait while it is.
	RecentRows int
	// VFS is the name of the SQLite file system that the database is on;
	// empty means the operating system's.
	VFS string
	// Mint makes the epoch of a new database.
	Mint id.Mint
	// Now is the clock for retrying the ballast; nil means time.Now.
	Now func() time.Time
	// Logger gets what nobody waits for; nil discards it.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.BallastBytes == 0 {
		o.BallastBytes = DefaultBallastBytes
	}
	if o.RecentRows == 0 {
		o.RecentRows = DefaultRecentRows
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// DB is an open database. It is safe for concurrent use; see turnlog.Store for
// who may call Commit and Upkeep.
type DB struct {
	dir     string
	options Options
	lock    *os.File
	ballast *ballast
	epoch   id.Epoch
	start   int64

	// mu guards the writing connection and all that is known about the
	// transaction it is in.
	mu     sync.Mutex
	writer *conn
	known  known
	recent *recent
	saves  saves
	// unmoved is the most pages that can have come into the write-ahead
	// log since Upkeep last looked at it.
	unmoved int
	// scrub is a scrubbing. That there is one is noted in the database too,
	// for the next start. nextPage is the page at which it goes on, patience
	// how many calls of Upkeep pass it over.
	scrub    atomic.Int32
	nextPage int64
	patience int
	// late tells that records may wait in the table unindexed.
	late bool

	pool   chan *conn // nil in a slot: not opened yet
	closed chan struct{}
	once   sync.Once
	err    error // of Close
}

var _ turnlog.Store = (*DB)(nil)

// Open opens the database in dir, which it makes (0700) when there is none.
// Before it returns, the new start number is durable: whoever had the database
// open before can write nothing any more. It reads a bounded number of pages,
// however much is stored; only a database of an older layout is brought up to
// date, once, in one transaction, for which one of the first layout is read
// whole.
//
// Errors: ErrInUse when another process has the directory; ErrCorrupt or
// ErrForeign for a file that is damaged or not ours, ErrNewer for one that a
// newer version wrote; in each case nothing was changed.
func Open(dir string, options Options) (*DB, error) {
	options = options.withDefaults()
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	lock, err := acquire(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	d := &DB{
		dir: dir, options: options, lock: lock,
		ballast: newBallast(filepath.Join(dir, ballastName), options),
		recent:  newRecent(options.RecentRows),
		pool:    make(chan *conn, readers),
		closed:  make(chan struct{}),
	}
	d.known.reset()
	for range readers {
		d.pool <- nil
	}
	if err := d.open(); err != nil {
		err = errors.Join(err, d.Close())
		return nil, fmt.Errorf("open %s: %w", d.path(), err)
	}
	d.ballast.fill()
	return d, nil
}

func (d *DB) path() string { return filepath.Join(d.dir, databaseName) }

func (d *DB) open() error {
	if err := checkFile(d.path()); err != nil {
		return err
	}
	// The driver's default for a commit is fsync; fdatasync makes the same
	// promise for less. Where there is none the default stays.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return err
	}
	if err := touch(d.path()); err != nil {
		return err
	}
	w, err := dial(d.path(), d.options.VFS, readWrite, writerPragmas)
	if err != nil {
		return explain(err)
	}
	d.writer = w
	if err := d.prepare(); err != nil {
		return explain(err)
	}
	return explain(d.load())
}

// prepare checks or makes the schema and takes the next start number.
func (d *DB) prepare() error {
	fresh, err := checkSchema(d.writer)
	if err != nil {
		return err
	}
	// Only now: turning the write-ahead log on writes to the file.
	if err := d.writer.exec("PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	if err := d.writer.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := d.layOut(fresh); err != nil {
		return errors.Join(err, d.writer.exec("ROLLBACK"))
	}
	err = d.writer.exec("COMMIT")
	if err == nil && fresh {
		err = syncDir(d.dir)
	}
	return err
}

// layOut makes the schema, or brings an older one up to date, and begins this
// opening, in the open transaction.
func (d *DB) layOut(fresh bool) error {
	if fresh {
		if err := createSchema(d.writer, d.options.Mint.Epoch()); err != nil {
			return err
		}
		return d.begin()
	}
	if err := d.upgrade(); err != nil {
		return fmt.Errorf("bring the database to layout %d: %w", schemaVersion, err)
	}
	return d.begin()
}

// begin reads the epoch and takes the next start number.
func (d *DB) begin() error {
	epoch, ok, err := d.writer.text("SELECT value FROM meta WHERE key = 'epoch'")
	if err != nil {
		return err
	}
	if !ok || epoch == "" {
		return fmt.Errorf("%w: it has no epoch", ErrCorrupt)
	}
	d.epoch = id.Epoch(epoch)
	if err := d.writer.exec("UPDATE meta SET value = value + 1 WHERE key = 'start'"); err != nil {
		return err
	}
	start, ok, err := d.writer.integer("SELECT value FROM meta WHERE key = 'start'")
	if err == nil && !ok {
		err = fmt.Errorf("%w: it has no start number", ErrCorrupt)
	}
	d.start = start
	if err != nil {
		return err
	}
	if err := d.findLate(); err != nil {
		return err
	}
	return d.findStains()
}

// Epoch is the life of the database, minted when it was created or restored.
func (d *DB) Epoch() id.Epoch { return d.epoch }

// Start is the number of this opening, one more than any before.
func (d *DB) Start() int64 { return d.start }

// Close ends reads that are under way, closes the database and lets go of the
// directory. What was committed stays. A second call returns what the first
// did.
func (d *DB) Close() error {
	d.once.Do(func() { d.err = d.close() })
	return d.err
}

func (d *DB) close() error {
	close(d.closed)
	var errs []error
	for range readers {
		if c := <-d.pool; c != nil {
			errs = append(errs, c.close())
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writer != nil {
		// So that the next start has nothing to read. If it can't be done,
		// for want of space or because a later opening owns the database,
		// nothing is lost.
		if err := d.move(d.recent.order); err != nil && !errors.Is(err, turnlog.ErrFenced) {
			d.options.Logger.Warn("recent records were not sorted in", "err", err)
		}
		errs = append(errs, d.writer.close())
	}
	d.writer = nil
	return errors.Join(append(errs, d.lock.Close())...)
}

// read runs f with a reading connection of its own. It waits for one while all
// are busy.
func (d *DB) read(ctx context.Context, f func(*conn) error) (err error) {
	select {
	case <-d.closed:
		return turnlog.ErrClosed
	default:
	}
	var c *conn
	select {
	case c = <-d.pool:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.closed:
		return turnlog.ErrClosed
	}
	defer func() { d.pool <- c }()
	if c == nil {
		if c, err = dial(d.path(), d.options.VFS, readWrite, readerPragmas); err != nil {
			return explain(err)
		}
	}
	return explain(f(c))
}
