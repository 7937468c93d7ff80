package faultfs

import (
	"bytes"
	"errors"
	"path/filepath"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// The signatures of the methods that are ours. SQLite holds the address of a
// Go function value; hooks keeps the values themselves alive.
type (
	openFunc     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	deleteFunc   = func(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32
	closeFunc    = func(tls *libc.TLS, file uintptr) int32
	writeFunc    = func(tls *libc.TLS, file, data uintptr, n int32, offset int64) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	syncFunc     = func(tls *libc.TLS, file uintptr, flags int32) int32
)

type hooks struct {
	open     openFunc
	delete   deleteFunc
	close    closeFunc
	write    writeFunc
	truncate truncateFunc
	sync     syncFunc
}

// file is an open file: its name, or none for one that is not recorded, and
// the method table that it had before ours.
type file struct {
	name  string
	real  uintptr // *Tsqlite3_io_methods
	table uintptr // ours, in C memory
}

// at views C memory as a Go value. The address comes from SQLite, whose memory
// does not move.
func at[T any](p uintptr) *T { return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&p))) }

// addressOf is how SQLite holds a Go function, and call the way back.
func addressOf[F any](f *F) uintptr { return *(*uintptr)(unsafe.Pointer(f)) }

func call[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{address})) }

// register makes a copy of the default file system whose opens and deletes are
// ours.
func (d *Disk) register() error {
	d.hooks = hooks{open: d.xOpen, delete: d.xDelete, close: d.xClose, write: d.xWrite, truncate: d.xTruncate, sync: d.xSync}
	d.base = sqlite3.Xsqlite3_vfs_find(d.tls, 0)
	if d.base == 0 {
		return errors.New("SQLite has no file system to stand on")
	}
	var err error
	if d.zName, err = libc.CString(d.name); err != nil {
		return err
	}
	d.vfs = libc.Xmalloc(d.tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	if d.vfs == 0 {
		libc.Xfree(d.tls, d.zName)
		return errors.New("out of memory")
	}
	v := at[sqlite3.Tsqlite3_vfs](d.vfs)
	*v = *at[sqlite3.Tsqlite3_vfs](d.base)
	v.FpNext, v.FzName = 0, d.zName
	v.FxOpen = addressOf(&d.hooks.open)
	v.FxDelete = addressOf(&d.hooks.delete)
	if sqlite3.Xsqlite3_vfs_register(d.tls, d.vfs, 0) != sqlite3.SQLITE_OK {
		return errors.New("SQLite refused the disk")
	}
	return nil
}

// recorded are the kinds of files that must survive a power cut.
const recorded = sqlite3.SQLITE_OPEN_MAIN_DB | sqlite3.SQLITE_OPEN_WAL | sqlite3.SQLITE_OPEN_MAIN_JOURNAL

func (d *Disk) xOpen(tls *libc.TLS, vfs, name, pFile uintptr, flags int32, outFlags uintptr) int32 {
	base := at[sqlite3.Tsqlite3_vfs](d.base)
	rc := call[openFunc](base.FxOpen)(tls, d.base, name, pFile, flags, outFlags)
	object := at[sqlite3.Tsqlite3_file](pFile)
	if rc != sqlite3.SQLITE_OK || object.FpMethods == 0 {
		return rc
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &file{real: object.FpMethods}
	if name != 0 && flags&recorded != 0 {
		path := libc.GoString(name)
		f.name = filepath.Base(path)
		d.counts[Open]++
		if err := d.opened(path); err != nil {
			return sqlite3.SQLITE_IOERR
		}
	}
	f.table = d.methods(tls, f.real)
	object.FpMethods = f.table
	d.files[pFile] = f
	return rc
}

// methods copies a method table, with the methods that are ours in place.
func (d *Disk) methods(tls *libc.TLS, from uintptr) uintptr {
	p := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	m := at[sqlite3.Tsqlite3_io_methods](p)
	*m = *at[sqlite3.Tsqlite3_io_methods](from)
	m.FxClose = addressOf(&d.hooks.close)
	m.FxWrite = addressOf(&d.hooks.write)
	m.FxTruncate = addressOf(&d.hooks.truncate)
	m.FxSync = addressOf(&d.hooks.sync)
	return p
}

func (d *Disk) file(pFile uintptr) *file { return d.files[pFile] }

func (f *file) methods() *sqlite3.Tsqlite3_io_methods {
	return at[sqlite3.Tsqlite3_io_methods](f.real)
}

func (d *Disk) xClose(tls *libc.TLS, pFile uintptr) int32 {
	d.mu.Lock()
	f := d.file(pFile)
	delete(d.files, pFile)
	d.mu.Unlock()
	at[sqlite3.Tsqlite3_file](pFile).FpMethods = f.real
	libc.Xfree(tls, f.table)
	return call[closeFunc](f.methods().FxClose)(tls, pFile)
}

func (d *Disk) xWrite(tls *libc.TLS, pFile, data uintptr, n int32, offset int64) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(pFile)
	if f.name != "" {
		if d.asked(Write) {
			return sqlite3.SQLITE_IOERR_WRITE
		}
		if d.full(f.name, offset+int64(n)) {
			return sqlite3.SQLITE_FULL
		}
	}
	rc := call[writeFunc](f.methods().FxWrite)(tls, pFile, data, n, offset)
	if rc == sqlite3.SQLITE_OK && f.name != "" {
		d.sizes[f.name] = max(d.sizes[f.name], offset+int64(n))
		d.record(Entry{Op: Write, Name: f.name, Offset: offset, Data: bytes.Clone(unsafe.Slice(at[byte](data), n))})
	}
	return rc
}

func (d *Disk) xTruncate(tls *libc.TLS, pFile uintptr, size int64) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(pFile)
	if f.name != "" && d.asked(Truncate) {
		return sqlite3.SQLITE_IOERR_TRUNCATE
	}
	rc := call[truncateFunc](f.methods().FxTruncate)(tls, pFile, size)
	if rc == sqlite3.SQLITE_OK && f.name != "" {
		d.sizes[f.name] = min(d.sizes[f.name], size)
		d.record(Entry{Op: Truncate, Name: f.name, Offset: size})
	}
	return rc
}

// xSync only notes that the file is safe from here on: the disk is made up.
func (d *Disk) xSync(tls *libc.TLS, pFile uintptr, flags int32) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.file(pFile)
	if f.name == "" {
		return sqlite3.SQLITE_OK
	}
	if d.asked(Sync) {
		return sqlite3.SQLITE_IOERR_FSYNC
	}
	d.record(Entry{Op: Sync, Name: f.name})
	return sqlite3.SQLITE_OK
}

func (d *Disk) xDelete(tls *libc.TLS, vfs, name uintptr, syncDir int32) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	base := filepath.Base(libc.GoString(name))
	if d.asked(Delete) {
		return sqlite3.SQLITE_IOERR_DELETE
	}
	rc := call[deleteFunc](at[sqlite3.Tsqlite3_vfs](d.base).FxDelete)(tls, d.base, name, 0)
	if rc == sqlite3.SQLITE_OK {
		delete(d.sizes, base)
		d.record(Entry{Op: Delete, Name: base, Durable: syncDir != 0})
	}
	return rc
}
