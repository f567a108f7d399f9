// gomemcache, which sends gets: gomemcache PORT
package main

import (
	"fmt"
	"os"

	"github.com/bradfitz/gomemcache/memcache"
)

func must(what string, got, want error) {
	if got != want {
		fmt.Fprintf(os.Stderr, "%s: %v in place of %v\n", what, got, want)
		os.Exit(1)
	}
}

func item(key, value string) *memcache.Item {
	return &memcache.Item{Key: key, Value: []byte(value)}
}

func main() {
	m := memcache.New("127.0.0.1:" + os.Args[1])
	must("ping", m.Ping(), nil)
	must("make", m.Add(item("go", "1000000|0.0001")), nil)
	must("make again", m.Add(item("go", "1")), memcache.ErrNotStored)
	must("set", m.Set(item("go", "subkey")), nil)
	must("add", m.Add(item("go|new", "x")), nil)
	must("add again", m.Add(item("go|new", "x")), memcache.ErrNotStored)
	must("replace", m.Replace(item("go|new", "x")), nil)
	_, err := m.Get("go|other")
	must("miss", err, memcache.ErrCacheMiss)
	found, err := m.GetMulti([]string{"go|subkey", "go|other", "go|new"})
	must("multi", err, nil)
	if len(found) != 2 || string(found["go|subkey"].Value) != "1" {
		fmt.Fprintln(os.Stderr, "multi:", found)
		os.Exit(1)
	}
	if _, err = m.Get("nowhere|x"); err == nil || err == memcache.ErrCacheMiss {
		fmt.Fprintln(os.Stderr, "unknown filter:", err)
		os.Exit(1)
	}
}
