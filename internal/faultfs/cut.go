package faultfs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// SectorBytes is what a disk writes whole or not at all.
const SectorBytes = 512

// Cut says how a machine stopped.
type Cut struct {
	// After is how many entries of the journal had been done.
	After int
	// Power is true for a power cut: what was not synced may be there,
	// gone, or torn at sectors, as Seed decides. False means that only the
	// process ended and everything done is there.
	Power bool
	Seed  uint64
}

// Materialise writes into dir, which it makes, the files as they would be
// found after the cut.
func (d *Disk) Materialise(dir string, cut Cut) error {
	journal := d.Journal()
	if cut.After < 0 || cut.After > len(journal) {
		return fmt.Errorf("the journal has %d entries, not %d", len(journal), cut.After)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, data := range replay(journal[:cut.After], cut) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// replay folds a journal into the files' contents.
func replay(journal []Entry, cut Cut) map[string][]byte {
	safe := map[string]int{} // entries of a file below this index are synced
	for i, e := range journal {
		if e.Op == Sync || e.Op == Delete && e.Durable {
			safe[e.Name] = i
		}
	}
	rng := rand.New(rand.NewPCG(cut.Seed, uint64(cut.After)))
	files := map[string][]byte{}
	for i, e := range journal {
		sure := !cut.Power || i <= safe[e.Name]
		apply(files, e, sure, rng)
	}
	return files
}

// apply does an entry, or what is left of it when it is not sure.
func apply(files map[string][]byte, e Entry, sure bool, rng *rand.Rand) {
	luck := rng.IntN(3)
	switch e.Op {
	case Open:
		files[e.Name] = append([]byte(nil), e.Data...)
	case Write:
		switch {
		case sure || luck == 0:
			files[e.Name] = put(files[e.Name], e.Offset, e.Data)
		case luck == 1:
			files[e.Name] = tear(files[e.Name], e, rng)
		}
	case Truncate:
		if sure || luck == 0 {
			files[e.Name] = resize(files[e.Name], e.Offset)
		}
	case Delete:
		if sure || luck == 0 {
			delete(files, e.Name)
		}
	default: // a read or a sync changes no bytes
	}
}

func put(file []byte, offset int64, data []byte) []byte {
	if end := offset + int64(len(data)); end > int64(len(file)) {
		file = resize(file, end)
	}
	copy(file[offset:], data)
	return file
}

func resize(file []byte, size int64) []byte {
	if size <= int64(len(file)) {
		return file[:size:size]
	}
	return append(file, make([]byte, size-int64(len(file)))...)
}

// tear keeps some of the sectors of a write.
func tear(file []byte, e Entry, rng *rand.Rand) []byte {
	for from := 0; from < len(e.Data); {
		at := e.Offset + int64(from)
		to := min(len(e.Data), from+int(SectorBytes-at%SectorBytes))
		if rng.IntN(2) == 0 {
			file = put(file, at, e.Data[from:to])
		}
		from = to
	}
	return file
}
