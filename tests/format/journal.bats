# The files beside a filter, byte by byte as bloomdedup(5) describes them: the
# journal of a run with outputs, and the notes about its writes.
load ../common

# frames: the kind and the payload, in hexadecimal, of each frame of a journal
# on standard input, up to its last one; zeros may follow
frames() {
	python3 -c '
import struct, sys, zlib
data, at = sys.stdin.buffer.read(), 0
while at + 16 <= len(data):
    magic, kind, size, crc = struct.unpack_from("<4sIII", data, at)
    payload = data[at + 16:at + 16 + size]
    if magic == bytes(4):
        break
    assert magic == b"\x89bdj" and size <= 65536, (magic, size)
    assert crc == zlib.crc32(data[at:at + 12] + bytes(4) + payload)
    print(kind, payload.hex())
    at += 16 + size
assert not any(data[at:])'
}

@test "the journal of a run with outputs: its lines, its layers and its output" {
	needs python3
	needs_preload
	bloomdedup create -n 4 f
	printf 'old\n' >out
	seq 9 >in
	# killed when the journal is complete, before anything is appended
	TORN=0 "${PRELOADED[@]}" "$BLOOMDEDUP" -f f --atomic -o out --append in || true
	frames <f.journal >seen
	grep -q '^6 ' seen
	cut -d ' ' -f 1 seen | tr -d '\n' | grep -xE '1[25]*36+'
	sed -n 1p seen | grep -q '^1 02000000'
	python3 - <<-'PYTHON'
		import os, struct
		rows = [line.split() for line in open("seen")]
		text = b""
		for kind, payload in rows:
		    payload = bytes.fromhex(payload)
		    if kind == "5":
		        assert struct.unpack_from("<I", payload) == (0,)
		        text += payload[4:]
		    if kind == "3":
		        entries = struct.iter_unpack("<IQ", payload[8:])
		        layers, counts = zip(*entries)
		        assert struct.unpack_from("<Q", payload)[0] == sum(counts) == 9
		        assert len(layers) > 1 and layers[0] == 0
		    if kind == "6":
		        number, what, device, inode, length = \
		            struct.unpack_from("<IIQQQ", payload)
		        state = os.stat("out")
		        assert (number, what) == (0, 2)
		        assert (device, inode, length) == (state.st_dev, state.st_ino, 4)
		        assert os.fsdecode(payload[44:]).rstrip("\0") == os.path.abspath("out")
		assert text == b"".join(b"%d\n" % i for i in range(1, 10))
	PYTHON
	printf 'anything' >>f.journal
	bloomdedup check -f f in | cmp in -
}

@test "the notes about writes: the output, its end and the bytes of the last write" {
	needs python3
	bloomdedup create -n 100 f
	mkfifo in
	bloomdedup -f f in >out 3>&- &
	run=$!
	exec 9>in
	for line in one two; do
		echo $line >&9
		until_true grep -q $line out
	done
	python3 - <<-'PYTHON'
		import os, stat, struct
		name = "f.notes-%d" % os.geteuid()
		assert stat.S_IMODE(os.stat(name).st_mode) == 0o600
		data = open(name, "rb").read()
		def frame(at):
		    magic, kind, size = struct.unpack_from("<4sII", data, at)
		    assert magic == b"\x89bdj"
		    return kind, data[at + 16:at + 16 + size], at + 16 + size
		kind, payload, at = frame(0)
		assert (kind, payload[:4]) == (1, b"\1\0\0\0")
		kind, payload, at = frame(at)
		number, end, separator, csv, zero, device, inode = \
		    struct.unpack_from("<I4B2Q", payload)
		state = os.stat("out")
		assert (kind, number, end, csv, zero) == (7, 0, 10, 0, 0)
		assert (device, inode) == (state.st_dev, state.st_ino)
		assert os.fsdecode(payload[24:]) == os.path.abspath("out")
		kind, payload, at = frame(at)
		assert (kind, len(payload)) == (8, 32)
		number, ending, end, begin, length, noted = \
		    struct.unpack("<IB3s3Q", payload)
		assert (number, ending, end, begin) == (0, 0, bytes(3), 4)
		assert (length, noted, data[at:at + 4]) == (4, 4, b"two\n")
	PYTHON
	exec 9>&-
	wait $run
	[ ! -e "f.notes-$(id -u)" ]
}
