<?php
// asks.php PORT: PHP's Memcached with its defaults; see asks.py.
$m = new Memcached();
$m->addServer('127.0.0.1', (int)$argv[1]);
while (($line = fgets(STDIN)) !== false) {
	[$verb, $key] = explode(' ', trim($line));
	$result = $verb === 'add' ? $m->add($key, 1) : $m->get($key);
	$code = $m->getResultCode();
	if ($result !== false)
		echo $verb === 'add' ? "new\n" : "found\n";
	elseif ($code === Memcached::RES_NOTSTORED)
		echo "seen\n";
	elseif ($code === Memcached::RES_NOTFOUND)
		echo "missing\n";
	else
		echo "error $code\n";
}
