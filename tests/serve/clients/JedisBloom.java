// Jedis, with its defaults: JedisBloom PORT SERVER LOSES, the script that
// restarts it (run), and the port of loses.py
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.bloom.BFInsertParams;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.SetParams;

public class JedisBloom {
	static final String NAME = "java:jedis";
	static JedisPooled jedis;
	static String script;

	static void must(String what, boolean ok, Object got) {
		if (!ok) {
			System.err.println(what + ": " + got);
			System.exit(1);
		}
	}

	static void fails(String text, Runnable trouble) {
		try {
			trouble.run();
			must(text, false, "no error");
		} catch (JedisDataException e) {
			must(text, e.getMessage().contains(text), e);
		}
		must("the next request", jedis.bfExists(NAME, "b"), false);
	}

	static void server(String... what) throws Exception {
		List<String> command = new ArrayList<>(List.of(what));
		command.add(0, script);
		must(what[0], new ProcessBuilder(command).start().waitFor() == 0,
			false);
	}

	// a connection of its pool was closed: it says so once
	static void works(String after) {
		for (int i = 0; ; i++) {
			try {
				must(after, jedis.bfExists(NAME, "b"), false);
				return;
			} catch (JedisConnectionException e) {
				must(after, i < 2, e);
			}
		}
	}

	public static void main(String[] arguments) throws Exception {
		jedis = new JedisPooled("127.0.0.1",
			Integer.parseInt(arguments[0]));
		script = arguments[1];
		must("ping", jedis.ping().equals("PONG"), false);
		must("reserve", jedis.bfReserve(NAME, 0.001, 1000)
			.equals("OK"), false);
		must("add", jedis.bfAdd(NAME, "a"), false);
		must("add again", !jedis.bfAdd(NAME, "a"), true);
		List<Boolean> some = jedis.bfMAdd(NAME, "a", "b");
		must("madd", some.equals(List.of(false, true)), some);
		some = jedis.bfMExists(NAME, "b", "c");
		must("mexists", some.equals(List.of(true, false)), some);
		some = jedis.bfInsert("java:made", BFInsertParams.insertParams()
			.capacity(50).error(0.01), "a");
		must("insert", some.equals(List.of(true)), some);
		must("card", jedis.bfCard(NAME) == 2, jedis.bfCard(NAME));
		Map<String, Object> info = jedis.bfInfo(NAME);
		must("info", info.get("Capacity").equals(1000L), info);
		try (var pipe = jedis.pipelined()) {
			for (int i = 0; i < 1000; i++)
				pipe.bfAdd(NAME, "p" + i);
			must("pipeline", pipe.syncAndReturnAll().size() == 1000,
				false);
		}
		try (var all = jedis.multi()) {
			for (int i = 0; i < 1000; i++)
				all.bfExists(NAME, "p" + i);
			List<Object> found = all.exec();
			must("multi", !found.contains(false), found);
		}
		fails("not found", () -> jedis.bfInfo("nowhere"));
		fails("non scaling filter is full",
			() -> jedis.bfAdd("full", "new"));
		fails("not a bloomdedup filter",
			() -> jedis.bfAdd("broken", "a"));
		fails("in use", () -> jedis.bfExists("locked", "a"));
		fails("delete needs a unix socket", () -> jedis.del(NAME));
		fails("unknown command", () -> jedis.set("a", "b"));
		// a reply that is lost is an error: it doesn't ask again
		JedisPooled lossy = new JedisPooled("127.0.0.1",
			Integer.parseInt(arguments[2]));
		try {
			must("a lost reply", false, lossy.bfAdd(NAME, "lost:java"));
		} catch (JedisConnectionException e) {
			must("asked again", !lossy.bfAdd(NAME, "lost:java"), e);
		}
		lossy.close();
		server("restart");
		works("after a restart");
		// idle, which a server allows by default, and for too long
		Thread.sleep(2500);
		must("after some time", jedis.bfExists(NAME, "b"), false);
		server("restart", "--idle-timeout=1");
		works("after another restart");
		server("closes");
		works("after a timeout");
		must("add after a timeout", jedis.bfAdd(NAME, "after"), false);
		server("restart", "--lease=1h");
		works("after the last restart");
		SetParams lease = SetParams.setParams().nx().ex(300);
		String key = NAME + "|leased";
		must("lease", "OK".equals(jedis.set(key, "1", lease)), false);
		fails("LEASED ", () -> jedis.set(key, "1", lease));
		must("commit", "OK".equals(jedis.set(key, "1")), false);
		must("remembered", jedis.set(key, "1", lease) == null, true);
		server("restart");
		jedis.close();
	}
}
