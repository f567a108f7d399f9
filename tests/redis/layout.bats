# The keys of a filter on a Redis server, byte by byte as bloomdedup(5) describes
# them: a reader that was written from that page finds the lines in them.
load ../common
load servers

# value KEY: of a string, without the newline that redis-cli adds
value() {
	cli --raw get "$1" | head -c -1
}

@test "the header and the shards of each kind have the page's layout" {
	needs python3
	for kind in $KINDS; do
		start
		seq 1000 | bloomdedup add -f "$URL/f" -n 1e6
		value 'bloomdedup:{f}' >header
		python3 - "$ROOT/tests/format" "$kind" "$REDIS_CLI" "$PORT" <<-'PYTHON'
			import struct, subprocess, sys, zlib
			sys.path.insert(0, sys.argv[1])
			sys.dont_write_bytecode = True
			import reader
			kind = sys.argv[2]
			def ask(*words):
			    return subprocess.run([sys.argv[3], "-p", sys.argv[4], "--raw", *words],
			        stdout=subprocess.PIPE, check=True).stdout[:-1]
			data = open("header", "rb").read()
			assert len(data) == 4160
			# a header page as in a file has slots after it
			file_id, secret, _ = reader.read_header(data[:4096] + bytes(8192))
			version, number, shards, k, t, name = struct.unpack_from("<6I", data, 4104)
			lines, pages = struct.unpack_from("<QQ", data, 4128)
			rate, zero, crc = struct.unpack_from("<dII", data, 4144)
			assert data[4096:4104] == b"bdshard\n" and version == 1 and zero == 0
			assert number == (1 if kind == "bloom" else 2)
			assert shards & (shards - 1) == 0 and 1 < shards <= 1024
			assert name == zlib.crc32(b"f") and crc == zlib.crc32(data[:4156])
			assert lines * shards >= 1e6
			key = "bloomdedup-shard:{f:%s:%%d}" % file_id[:8].hex()
			keys = ask("keys", "*").decode().split()
			assert sorted(keys) == sorted(
			    ["bloomdedup:{f}"] + [key % i for i in range(shards)])
			count = 0
			strings = kind == "bits" and [ask("get", key % i) for i in range(shards)]
			if strings:
			    assert {len(s) for s in strings} == {4096 * pages + 16}
			    assert all(s[4096 * pages] & 0x80 for s in strings)
			    counted = sum(struct.unpack(">Q", s[-8:])[0] for s in strings)
			    assert 990 <= counted <= 1000, counted
			    assert 1 <= t <= 8 and t <= k <= 8 * t
			else:
			    assert (k, t, pages) == (0, 0, 0), (k, t, pages)
			    assert 1e-8 <= rate <= 1e-6, rate
			    assert all(ask("bf.exists", key % i, "bloomdedup") == b"1"
			        for i in range(shards))
			for i in list(range(1, 1001, 97)) + [5000]:
			    digest = reader.digest_of(b"%d" % i, secret)
			    shard = digest[1] * shards >> 64
			    if strings:
			        page, bits = reader.place(digest, (0, shards * pages, k, t))
			        assert page // pages == shard
			        found = True
			        for line, lane, bit in bits:
			            a = page % pages * 4096 + 64 * line + 8 * lane + bit // 8
			            n = 8 * a + 7 - bit % 8
			            found &= ask("getbit", key % shard, str(n)) == b"1"
			    else:
			        item = struct.pack("<QQ", *digest)
			        if b"\0" in item:
			            continue
			        found = ask("bf.exists", key % shard, item) == b"1"
			    assert found == (i <= 1000), i
		PYTHON
	done
	every_kind
}

@test "shards expire in an hour until their filter has lines, and outlive its header" {
	kind=bits
	start
	bloomdedup create -n 100 "$URL/f"
	shard=$(cli --raw keys 'bloomdedup-shard:*')
	[ "$(cli ttl "$shard")" -gt 3500 ] && [ "$(cli ttl "$shard")" -le 3600 ]
	[ "$(cli ttl 'bloomdedup:{f}')" -eq -1 ]
	echo a | bloomdedup add -f "$URL/f"
	[ "$(cli ttl "$shard")" -eq -1 ]
	cli del 'bloomdedup:{f}'
	fails 3 "$URL/f" bloomdedup check -f "$URL/f" /dev/null
	echo a | bloomdedup -f "$URL/f" 2>/dev/null | cmp - <(echo a)
	[ "$(cli exists "$shard")" -eq 1 ]
	[ "$(cli --raw keys 'bloomdedup-shard:*' | wc -l)" -gt 1 ]
}
