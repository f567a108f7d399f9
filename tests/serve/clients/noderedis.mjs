// node-redis, with its defaults: noderedis.mjs PORT SERVER LOSES, the script
// that restarts it (run), and the port of loses.py
import assert from 'node:assert';
import { execFileSync } from 'node:child_process';
import { createClient } from 'redis';

const [, , port, server, loses] = process.argv;
const client = createClient({ url: `redis://127.0.0.1:${port}` });
client.on('error', error => console.log('connection:', error.message));
await client.connect();
const { bf } = client;
const name = 'node:redis';

assert.equal(await bf.reserve(name, 0.001, 1000), 'OK');
assert.equal(await bf.add(name, 'a'), true);
assert.equal(await bf.add(name, 'a'), false);
assert.deepEqual(await bf.mAdd(name, ['a', 'b']), [false, true]);
assert.deepEqual(await bf.mExists(name, ['b', 'c']), [true, false]);
assert.deepEqual(await bf.insert('node:made', ['a'],
	{ CAPACITY: 50, ERROR: 0.01 }), [true]);
assert.equal(await bf.card(name), 2);
const info = await bf.info(name);
assert.equal(info.Capacity ?? info.capacity, 1000);
const many = [...Array(1000).keys()].map(String);
assert.equal((await Promise.all(many.map(one => bf.add(name, one)))).length,
	1000);
let multi = client.multi();
for (const one of many)
	multi = multi.bf.exists(name, one);
assert((await multi.exec()).every(found => found == true));

for (const [trouble, text] of [
	[() => bf.info('nowhere'), 'not found'],
	[() => bf.add('full', 'new'), 'non scaling filter is full'],
	[() => bf.add('broken', 'a'), 'not a bloomdedup filter'],
	[() => bf.exists('locked', 'a'), 'in use'],
	[() => client.del(name), 'delete needs a unix socket'],
	[() => client.set('a', 'b'), 'unknown command'],
]) {
	await assert.rejects(trouble, error => error.message.includes(text));
	assert.equal(await bf.exists(name, 'b'), true);
}

// version 2 of the protocol: an item that fails isn't "seen", and the replies
// behind it are those of their requests
const two = createClient({ url: `redis://127.0.0.1:${port}`, RESP: 2 });
two.on('error', error => console.log('connection:', error.message));
await two.connect();
await two.bf.reserve('node:two', 0.01, 2, { NONSCALING: true });
await two.bf.mAdd('node:two', ['a', 'b']);
const behind = await Promise.all([
	two.bf.mAdd('node:two', ['new', 'a', 'b']).catch(error => error),
	two.bf.add(name, 'after1'), two.bf.add(name, 'after2')]);
assert.deepEqual(behind.slice(1), [true, true]);
assert(!(Array.isArray(behind[0]) && behind[0].length == 3), behind[0]);
two.destroy();

// a reply that is lost is an error: it doesn't ask again by itself
const lossy = createClient({ url: `redis://127.0.0.1:${loses}` });
lossy.on('error', error => console.log('connection:', error.message));
await lossy.connect();
await assert.rejects(lossy.bf.add(name, 'lost:node'));
assert.equal(await lossy.bf.exists(name, 'lost:node'), true);
lossy.destroy();

// it connects again by itself, and tells of it
async function works() {
	for (let i = 0; ; i++) {
		try {
			assert.equal(await bf.exists(name, 'b'), true);
			return;
		} catch (error) {
			if (i == 5)
				throw error;
			console.log('request:', error.message);
		}
	}
}

execFileSync(server, ['restart']);
await works();
// idle, which a server allows by default, and for too long
await new Promise(resolve => setTimeout(resolve, 2500));
assert.equal(await bf.exists(name, 'b'), true);
execFileSync(server, ['restart', '--idle-timeout=1']);
await works();
execFileSync(server, ['closes']);
await works();
assert.equal(await bf.add(name, 'after'), true);
execFileSync(server, ['restart', '--lease=1h']);
await works();
const lease = () => client.set(name + '|leased', '1', { NX: true, EX: 300 });
assert.equal(await lease(), 'OK');
await assert.rejects(lease, error => error.message.startsWith('LEASED '));
assert.equal(await client.set(name + '|leased', '1'), 'OK');
assert.equal(await lease(), null);
execFileSync(server, ['restart']);
client.destroy();
