/** spymemcached: Spymemcached PORT. */
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Map;
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
	}
}
