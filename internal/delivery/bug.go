package delivery

// bug is a mistake that tests put into a lane to see that they would find it. The
// program never sets one.
type bug int
