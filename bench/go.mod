module verbatim/bench

go 1.26.0
