/** spymemcached with its defaults: Asks PORT; see asks.py. */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.internal.OperationFuture;
import net.spy.memcached.ops.StatusCode;

public class Asks {
	static String ask(MemcachedClient m, String verb, String key) {
		try {
			if (!verb.equals("add"))
				return m.get(key) == null ? "missing" : "found";
			OperationFuture<Boolean> added = m.add(key, 0, "1");
			return added.get() ? "new" : added.getStatus().
				getStatusCode() == StatusCode.ERR_NOT_STORED ?
				"seen" : "error";
		} catch (Exception error) {
			return "error";
		}
	}

	public static void main(String[] args) throws Exception {
		MemcachedClient m = new MemcachedClient(new InetSocketAddress(
			"127.0.0.1", Integer.parseInt(args[0])));
		BufferedReader lines = new BufferedReader(
			new InputStreamReader(System.in));
		for (String line; (line = lines.readLine()) != null; ) {
			String[] words = line.split(" ");
			System.out.println(ask(m, words[0], words[1]));
		}
		m.shutdown();
		System.exit(0);
	}
}
