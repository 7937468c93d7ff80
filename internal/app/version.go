package app

// Version is the product's version.
const Version = "0.1.0"
