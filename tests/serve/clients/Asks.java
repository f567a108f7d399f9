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
			if (verb.equals("both"))
				return "" + m.getBulk(key.split(" ")).size();
			if (verb.equals("get"))
				return m.get(key) == null ? "missing" : "found";
			OperationFuture<Boolean> added = m.add(key,
				verb.equals("lease") ? 300 : 0, "1");
			if (added.get())
				return "new";
			StatusCode code = added.getStatus().getStatusCode();
			if (code == StatusCode.ERR_NOT_STORED)
				return "seen";
			return code == StatusCode.ERR_EXISTS ? "leased" : "error";
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
			String[] words = line.split(" ", 2);
			System.out.println(ask(m, words[0], words[1]));
		}
		m.shutdown();
		System.exit(0);
	}
}
