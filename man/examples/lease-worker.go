// A crawler's worker that remembers a page only once it is fetched:
//
//	bloomdedup serve -d DIRECTORY --lease=10m
//	lease-worker 127.0.0.1:12345 pages <urls
//
// Reads URLs, one per line; any number of workers may read the same URLs. One
// of them fetches each page, and keeps it in the directory `pages`. If a worker
// fails or is killed, another one fetches its page. A page that cannot be
// fetched is tried three times, and reported. The filter, also called `pages`,
// must exist.
package main

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

const (
	lease   = 300              // seconds, longer than it takes to fetch a page
	again   = 10 * time.Second // until it asks again for a leased page
	tries   = 3
	fetches = 8 // at a time
)

// fetch fetches and keeps the page. This may happen twice, and does no harm.
func fetch(url, path string) error {
	client := http.Client{Timeout: time.Minute}
	page, err := client.Get(url)
	if err != nil {
		return err
	}
	defer page.Body.Close()
	if page.StatusCode != http.StatusOK {
		return errors.New(page.Status)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "new")
	if err != nil {
		return err
	}
	_, err = io.Copy(file, page.Body)
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(file.Name())
		return err
	}
	return os.Rename(file.Name(), path)
}

// work returns when any worker has the page remembered, or it cannot be
// fetched.
func work(m *memcache.Client, name, url string) error {
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(url)))
	item := &memcache.Item{Key: name + "|" + digest, Value: []byte("1"),
		Expiration: lease}
	for failed := 0; ; {
		switch err := m.Add(item); err {
		case memcache.ErrNotStored: // it is remembered
			return nil
		case memcache.ErrCASConflict: // it is leased to another worker
			time.Sleep(again)
			continue
		case nil: // the lease is ours
		default:
			return err
		}
		err := fetch(url, filepath.Join(name, digest))
		if err == nil {
			fmt.Println(url)
			return m.Set(item) // done: remember it
		}
		m.Delete(item.Key) // give it back
		if failed++; failed == tries {
			return err
		}
	}
}

func main() {
	address, name := os.Args[1], os.Args[2]
	if err := os.MkdirAll(name, 0o777); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m := memcache.New(address)
	m.MaxIdleConns = fetches
	urls := make(chan string)
	var group sync.WaitGroup
	for i := 0; i < fetches; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for url := range urls {
				if err := work(m, name, url); err != nil {
					fmt.Fprintf(os.Stderr, "%s: %v\n", url, err)
				}
			}
		}()
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		urls <- lines.Text()
	}
	close(urls)
	group.Wait()
}
