// Package e2e holds the tests that run the real program: built once, started on
// a data directory of its own, spoken to over real sockets, in front of a model
// server that the test plays. They show what a person would see after a kill,
// a dropped line, a full disk. model_test.go does without the program, so that
// it can try thousands of schedules.
//
// Nothing here is part of the product. Environment variables: VERBATIM_LONG
// makes the tests take as long as they can use, VERBATIM_SEED repeats a random
// schedule whose seed a test has printed.
package e2e
