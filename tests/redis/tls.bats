# rediss://: the same with TLS, where hiredis has it.
load ../common
load servers
load running

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	need_redis
	bloomdedup --version | grep -q tls || skip "built without TLS"
	needs openssl
	authority ours
	certificate ours server IP:127.0.0.1
	export SSL_CERT_FILE=$PWD/ours.crt
}

# authority NAME: one that signs certificates
authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-keyout "$1.key" -out "$1.crt" -subj "/CN=$1" 2>openssl.err
}

# certificate AUTHORITY NAME SUBJECT: NAME.crt and NAME.key
certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-keyout "$2.key" -out "$2.csr" -subj "/CN=$2" 2>openssl.err
	openssl x509 -req -in "$2.csr" -CA "$1.crt" -CAkey "$1.key" \
		-out "$2.crt" -days 2 \
		-extfile <(echo "subjectAltName=$3") 2>openssl.err
}

# tls_options [OPTION]...: those of a server, at a port of its own for TLS:
# OPTIONS, TLS_PORT
tls_options() {
	TLS_PORT=$(free_port)
	OPTIONS=(--tls-port "$TLS_PORT" --tls-cert-file "$PWD/server.crt"
		--tls-key-file "$PWD/server.key"
		--tls-ca-cert-file "$PWD/ours.crt" --tls-auth-clients no "$@")
}

# start_tls [OPTION]...: sets URL for TLS, and PLAIN_URL
start_tls() {
	local try
	for try in 1 2 3 4 5; do
		tls_options "$@"
		if start "${OPTIONS[@]}"; then
			PLAIN_URL=$URL
			URL=rediss://127.0.0.1:$TLS_PORT
			return 0
		fi
	done
	return 1
}

@test "with TLS, the output and the filter are the same" {
	start_tls --requirepass secret
	export REDISCLI_AUTH=secret
	"$HELPER" lines 300000 5 >in
	bloomdedup -n 400000 -p 1e-8 in >want
	bloomdedup create -n 400000 -p 1e-8 "$URL/seen" 2>notes
	bloomdedup -f "$URL/seen" in >out
	cmp want out
	for url in "$URL" "$PLAIN_URL"; do
		bloomdedup -f "$url/seen" in >out
		[ ! -s out ]
	done
}

@test "lines that come one by one, and a server that is lost with TLS" {
	start_tls
	bloomdedup create -n 1e5 "$URL/seen"
	begin --lock-timeout=1
	say a
	say b
	stop
	echo c >&9
	end 3
	grep -q "$URL/seen" err
}

@test "a connection with TLS that is cut anywhere loses nothing" {
	start_tls
	seq 1 3000 >in
	for cut in sent received; do
		for at in 1 100 600 1500 2500 5000 20000 70000 140000; do
			PORT=$TLS_PORT
			start_proxy "--cut-$cut" "$at" --times 2
			bloomdedup create --force -n 1e5 "$URL/seen"
			status=0
			bloomdedup -f "rediss://127.0.0.1:$PROXY/seen" in >out \
				2>err || status=$?
			kill "$PROXY_PID"
			# nothing was read if there is no connection at first
			[ "$status" -eq 0 ] || [ "$status" -eq 3 ]
			[ "$status" -eq 0 ] || bloomdedup -f "$URL/seen" in >>out
			cmp in out
			bloomdedup -f "$URL/seen" in >out
			[ ! -s out ]
		done
	done
}

@test "a certificate that is not to be trusted is refused" {
	start_tls
	url=$URL/seen
	authority theirs
	SSL_CERT_FILE=$PWD/theirs.crt \
		fails 3 "$url: the server's certificate is refused: " \
		bloomdedup -f "$url" <<<x
	# ours, but made out to another host
	fails 3 "certificate is refused: hostname mismatch" \
		bloomdedup -f "rediss://localhost:$TLS_PORT/seen" <<<x
	certificate ours server DNS:another.example
	stop
	start_tls
	fails 3 "certificate is refused: IP address mismatch" \
		bloomdedup -f "$URL/seen" <<<x
	# nothing that speaks TLS
	fails 3 "rediss://127.0.0.1:$PORT/seen: " \
		bloomdedup --lock-timeout=0 -f "rediss://127.0.0.1:$PORT/seen" <<<x
}

# alert CODE: a server that refuses each handshake with this fatal alert; sets
# PROXY, its port
alert() {
	exec 8< <(exec python3 -ISc 'import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    client = server.accept()[0]
    client.recv(65536)
    client.sendall(bytes([21, 3, 1, 0, 2, 2, int(sys.argv[1])]))
    client.recv(65536)' "$1" 3>&-)
	echo $! >alert.pid
	read -r PROXY <&8
	exec 8<&-
}

@test "a server that refuses: why, if OpenSSL has words for it" {
	alert 40
	fails 3 'alert handshake failure' bloomdedup --lock-timeout=0 \
		-f "rediss://127.0.0.1:$PROXY/seen" <<<x
	alert 200
	fails 3 "rediss://127.0.0.1:$PROXY/seen: OpenSSL failed" bloomdedup \
		--lock-timeout=0 -f "rediss://127.0.0.1:$PROXY/seen" <<<x
}

@test "a server that wants the client's certificate gets it" {
	start_tls --tls-auth-clients yes
	certificate ours client DNS:client.example
	fails 3 "$URL/seen: " bloomdedup --lock-timeout=0 -f "$URL/seen" <<<x
	cat client.crt client.key >client.pem
	url="$URL/seen?certificate=client.pem"
	[ "$(bloomdedup -f "$url" <<<x)" = x ]
	[ -z "$(bloomdedup -f "$url" <<<x)" ]
	fails 3 absent.pem bloomdedup -f "$URL/seen?certificate=absent.pem" <<<x
	fails 3 client.crt bloomdedup -f "$URL/seen?certificate=client.crt" <<<x
	fails 2 rediss://HOST bloomdedup -f "$PLAIN_URL/seen?certificate=x" <<<x
}

@test "a cluster with TLS" {
	local i
	ports=() tls_ports=()
	for i in 1 2 3; do
		start_tls --cluster-enabled yes --cluster-node-timeout 1000 \
			--tls-cluster yes
		ports+=("$PORT") tls_ports+=("$TLS_PORT")
	done
	redis-cli --tls --cacert ours.crt --cluster create \
		"${tls_ports[@]/#/127.0.0.1:}" --cluster-yes >cluster.out 2>&1 || {
		cat cluster.out
		return 1
	}
	for i in "${ports[@]}"; do
		until_true cluster_is_ok "$i"
	done
	seq 1 50000 >in
	bloomdedup create -n 1e6 "$URL/seen"
	bloomdedup -f "$URL/seen" in >out
	cmp in out
	bloomdedup -f "$URL/seen" in >out
	[ ! -s out ]
	for i in "${ports[@]}"; do
		[ "$(redis-cli -p "$i" dbsize)" -gt 0 ]
	done
}
