// Package oracle has no code: its tests feed the same recorded bytes to the
// vendor's own SDK and to our decoder and compare what a reader gets. It is a
// module of its own so that the SDK is no dependency of the program.
package oracle
