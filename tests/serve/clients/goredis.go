// go-redis, with its defaults: goredis PORT SERVER LOSES, the script that
// restarts it (run), and the port of loses.py
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func must(what string, ok bool, rest ...any) {
	if !ok {
		fmt.Fprintln(os.Stderr, append([]any{what}, rest...)...)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	r := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})
	name := "go:redis"
	fails := func(err error, text string) {
		must(text, err != nil && strings.Contains(err.Error(), text), err)
		found, err := r.BFExists(ctx, name, "b").Result()
		must("the next request", err == nil && found, err)
	}
	must("ping", r.Ping(ctx).Err() == nil, r.Ping(ctx).Err())
	must("reserve", r.BFReserve(ctx, name, 0.001, 1000).Err() == nil)
	added, err := r.BFAdd(ctx, name, "a").Result()
	must("add", err == nil && added, err)
	added, err = r.BFAdd(ctx, name, "a").Result()
	must("add again", err == nil && !added, err)
	some, err := r.BFMAdd(ctx, name, "a", "b").Result()
	must("madd", err == nil && fmt.Sprint(some) == "[false true]", some, err)
	some, err = r.BFMExists(ctx, name, "b", "c").Result()
	must("mexists", err == nil && fmt.Sprint(some) == "[true false]", some)
	some, err = r.BFInsert(ctx, "go:made", &redis.BFInsertOptions{
		Capacity: 50, Error: 0.01}, "a").Result()
	must("insert", err == nil && fmt.Sprint(some) == "[true]", some, err)
	card, err := r.BFCard(ctx, name).Result()
	must("card", err == nil && card == 2, card, err)
	info, err := r.BFInfo(ctx, name).Result()
	must("info", err == nil && info.Capacity == 1000 &&
		info.ItemsInserted == 2, info, err)
	info, err = r.BFInfoCapacity(ctx, name).Result()
	must("one field", err == nil && info.Capacity == 1000, info, err)
	for _, pipe := range []redis.Pipeliner{r.Pipeline(), r.TxPipeline()} {
		for i := 0; i < 1000; i++ {
			pipe.BFAdd(ctx, name, i)
		}
		_, err = pipe.Exec(ctx)
		must("pipeline", err == nil, err)
	}
	// replies stay those of their requests after an item that fails
	must("full", r.BFReserveWithArgs(ctx, "go:two", &redis.BFReserveOptions{
		Error: 0.01, Capacity: 2, NonScaling: true}).Err() == nil)
	must("fill", r.BFMAdd(ctx, "go:two", "a", "b").Err() == nil)
	pipe := r.Pipeline()
	two := pipe.BFMAdd(ctx, "go:two", "new", "a", "b")
	first := pipe.BFAdd(ctx, name, "after1")
	second := pipe.BFAdd(ctx, name, "after2")
	pipe.Exec(ctx)
	must("in the full one", two.Err() != nil, two)
	must("behind it", first.Val() && second.Val(), first, second)
	fails(r.BFInfo(ctx, "nowhere").Err(), "not found")
	fails(r.BFAdd(ctx, "full", "new").Err(), "non scaling filter is full")
	fails(r.BFMAdd(ctx, "full", "x", "new", "newer").Err(),
		"non scaling filter is full")
	fails(r.BFAdd(ctx, "broken", "a").Err(), "not a bloomdedup filter")
	fails(r.BFExists(ctx, "locked", "a").Err(), "in use")
	fails(r.Del(ctx, name).Err(), "delete needs a unix socket")
	fails(r.Set(ctx, "a", "b", 0).Err(), "unknown command")
	server := func(what ...string) {
		must(what[0], exec.Command(os.Args[2], what...).Run() == nil)
	}
	works := func(after string) {
		found, err := r.BFExists(ctx, name, "b").Result()
		must(after, err == nil && found, err)
	}
	// a reply that is lost: it asks again, and then the subkey is "seen"
	for retries, want := range map[int]string{0: "false <nil>",
		-1: "false EOF"} {
		lossy := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:" + os.Args[3], MaxRetries: retries})
		added, err = lossy.BFAdd(ctx, name,
			fmt.Sprint("lost:go", retries)).Result()
		must("a lost reply", fmt.Sprint(added, " ", err) == want, added, err)
	}
	server("restart")
	works("after a restart")
	// idle, which a server allows by default, and for too long
	time.Sleep(2500 * time.Millisecond)
	works("after some time")
	server("restart", "--idle-timeout=1")
	works("after another restart")
	server("closes")
	added, err = r.BFAdd(ctx, name, "after").Result()
	must("after a timeout", err == nil && added, err)
	server("restart", "--lease=1h")
	lease := func() (bool, error) {
		return r.SetNX(ctx, name+"|leased", "1", 300*time.Second).Result()
	}
	added, err = lease()
	must("lease", err == nil && added, err)
	added, err = lease()
	must("lease of another", err != nil && !added &&
		strings.HasPrefix(err.Error(), "LEASED "), err)
	left, err := r.TTL(ctx, name+"|leased").Result()
	must("ttl", err == nil && left > 100*time.Second, left, err)
	must("commit", r.Set(ctx, name+"|leased", "1", 0).Err() == nil)
	added, err = lease()
	must("lease of what is remembered", err == nil && !added, err)
	server("restart")
}
