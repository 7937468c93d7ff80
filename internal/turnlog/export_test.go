package turnlog

// StoreOf lets tests read past the cache.
func StoreOf(l *Log) Store { return l.store }
