// gomemcache with its defaults: asks PORT; see asks.py.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bradfitz/gomemcache/memcache"
)

func main() {
	m := memcache.New("127.0.0.1:" + os.Args[1])
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verb, key, _ := strings.Cut(lines.Text(), " ")
		var err error
		good := "new"
		switch verb {
		case "add":
			err = m.Add(&memcache.Item{Key: key, Value: []byte("1")})
		case "lease":
			err = m.Add(&memcache.Item{Key: key, Value: []byte("1"),
				Expiration: 300})
		case "both":
			var found map[string]*memcache.Item
			found, err = m.GetMulti(strings.Split(key, " "))
			good = fmt.Sprint(len(found))
		default:
			good = "found"
			_, err = m.Get(key)
		}
		switch {
		case err == nil:
			fmt.Println(good)
		case errors.Is(err, memcache.ErrNotStored):
			fmt.Println("seen")
		case errors.Is(err, memcache.ErrCASConflict):
			fmt.Println("leased")
		case errors.Is(err, memcache.ErrCacheMiss):
			fmt.Println("missing")
		default:
			fmt.Println("error")
		}
	}
}
