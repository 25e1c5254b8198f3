// The Go client, version 2 (its tag 2.1.1): main <endpoint> <write key> <user>
package main
