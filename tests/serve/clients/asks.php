<?php
// asks.php PORT: PHP's Memcached with its defaults; see asks.py.
$m = new Memcached();
$m->addServer('127.0.0.1', (int)$argv[1]);
while (($line = fgets(STDIN)) !== false) {
	[$verb, $key] = $words = explode(' ', trim($line));
	if ($verb === 'both') {
		$found = $m->getMulti(array_slice($words, 1));
		echo $found === false ? 'error' : count($found), "\n";
		continue;
	}
	if ($verb === 'get')
		$result = $m->get($key);
	else
		$result = $m->add($key, 1, $verb === 'lease' ? 300 : 0);
	$code = $m->getResultCode();
	if ($result !== false)
		echo $verb === 'get' ? "found\n" : "new\n";
	elseif ($code === Memcached::RES_NOTSTORED)
		echo "seen\n";
	elseif ($code === Memcached::RES_DATA_EXISTS)
		echo "leased\n";
	elseif ($code === Memcached::RES_NOTFOUND)
		echo "missing\n";
	else
		echo "error $code\n";
}
