/** spymemcached: Spymemcached PORT PORT, two servers. */
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Map;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.FailureMode;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.transcoders.SerializingTranscoder;

public class Spymemcached {
	static void must(String what, Object got, Object want) {
		if (!want.equals(got)) {
			System.err.println(what + ": " + got + " in place of "
				+ want);
			System.exit(1);
		}
	}

	public static void main(String[] args) throws Exception {
		MemcachedClient m = new MemcachedClient(new InetSocketAddress(
			"127.0.0.1", Integer.parseInt(args[0])));
		must("make", m.add("java", 0, "1000000|0.0001").get(), true);
		must("make again", m.add("java", 0, "1|0.1").get(), false);
		must("set", m.set("java", 0, "subkey").get(), true);
		must("get", m.get("java|subkey"), "1");
		must("miss", m.get("java|other") == null, true);
		must("add", m.add("java|new", 0, "x").get(), true);
		must("add again", m.add("java|new", 0, "x").get(), false);
		must("replace", m.replace("java|new", 0, "x").get(), true);
		Map<String, Object> found = m.getBulk(Arrays.asList(
			"java|subkey", "java|other", "java|new"));
		must("bulk", found.size(), 2);
		must("stats", m.getStats().size(), 1);
		m.shutdown();
		pool(args);
	}

	/** A filter in trouble, in a pool: no key is new on another server. */
	static void pool(String[] ports) throws Exception {
		InetSocketAddress[] servers = new InetSocketAddress[2];
		for (int i = 0; i < 2; i++) {
			servers[i] = new InetSocketAddress("127.0.0.1",
				Integer.parseInt(ports[i]));
			MemcachedClient one = new MemcachedClient(servers[i]);
			one.add("java:pool", 0, "1000|0.0001").get();
			one.shutdown();
		}
		MemcachedClient m = new MemcachedClient(
			new ConnectionFactoryBuilder().setFailureMode(
			FailureMode.Retry).build(), Arrays.asList(servers));
		for (int i = 0; i < 100; i++)
			m.add("java:pool|" + i, 0, "1").get();
		for (int i = 0; i < 4; i++) {
			try {
				m.add("nowhere|" + i, 0, "1").get();
			} catch (Exception error) {
				System.out.println(error);
			}
		}
		for (int i = 0; i < 100; i++)
			must("pool", m.add("java:pool|" + i, 0, "1").get(), false);
		m.shutdown();
	}
}
