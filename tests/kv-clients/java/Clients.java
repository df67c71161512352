import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.DefaultConnectionFactory;
import net.spy.memcached.DefaultHashAlgorithm;
import net.spy.memcached.KetamaConnectionFactory;
import net.spy.memcached.KetamaNodeKeyFormatter;
import net.spy.memcached.MemcachedClient;

/**
 * spymemcached against two servers: Clients FIRST SECOND, as HOST:PORT. Random requests as to a map, in text and binary; then the keys that
 * another client spread over both by ketama are found.
 */
final class Clients {
    private static final int STEPS = 2000;
    private static final int TIMEOUT_MILLISECONDS = 20_000;

    private static void check(boolean is, String what) {
        if (!is) {
            throw new AssertionError(what);
        }
    }

    /** Addresses that are called what was given, as libmemcached calls them: a reverse lookup would give them other names. */
    private static List<InetSocketAddress> addresses(String[] servers) throws Exception {
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (String server : servers) {
            String host = server.substring(0, server.lastIndexOf(':'));
            InetAddress address = InetAddress.getByAddress(host, InetAddress.getByName(host).getAddress());
            addresses.add(new InetSocketAddress(address, Integer.parseInt(server.substring(host.length() + 1))));
        }
        return addresses;
    }

    private static void likeAMap(Protocol protocol, List<InetSocketAddress> servers) throws Exception {
        ConnectionFactoryBuilder builder = new ConnectionFactoryBuilder().setProtocol(protocol).setOpTimeout(TIMEOUT_MILLISECONDS);
        MemcachedClient client = new MemcachedClient(builder.build(), servers);
        Random chance = new Random(protocol.ordinal());
        Map<String, String> model = new TreeMap<>();
        client.flush().get();
        for (int step = 0; step < STEPS; step++) {
            String key = "java-" + chance.nextInt(50);
            String value = "v".repeat(new int[] {1, 20, 500, 9000}[chance.nextInt(4)]) + step;
            String old = model.get(key);
            switch (chance.nextInt(7)) {
                case 0:
                    check(client.set(key, 0, value).get(), "set");
                    model.put(key, value);
                    break;
                case 1:
                    check(client.add(key, 0, value).get() == (old == null), "add");
                    model.putIfAbsent(key, value);
                    break;
                case 2:
                    check(client.replace(key, 0, value).get() == (old != null), "replace");
                    model.replace(key, value);
                    break;
                case 3:
                    check(client.delete(key).get() == (old != null), "delete");
                    model.remove(key);
                    break;
                case 4:
                    CASValue<Object> found = client.gets(key);
                    check((found == null) == (old == null), "gets");
                    if (found != null) {
                        check(found.getValue().equals(old), "gets of another value");
                        check(client.cas(key, found.getCas(), value) == CASResponse.OK, "cas");
                        check(client.cas(key, found.getCas(), value) == CASResponse.EXISTS, "cas with the same number");
                        model.put(key, value);
                    }
                    break;
                case 5:
                    List<String> keys = new ArrayList<>();
                    for (int n = 0; n < 50; n++) {
                        keys.add("java-" + n);
                    }
                    check(client.getBulk(keys).equals(model), "get of many");
                    break;
                default:
                    Object got = client.get(key);
                    check(old == null ? got == null : old.equals(got), "get");
            }
        }
        check(client.incr("java-number", 5, 40) == 40 && client.incr("java-number", 2) == 42, "incr");
        check(client.decr("java-number", 50) == 0, "decr");
        check(client.touch("java-number", 100).get() && client.getStats().size() == servers.size(), "touch and stats");
        client.shutdown();
        System.out.println("spymemcached, " + protocol + ": " + STEPS + " requests as a map");
    }

    /** The keys of python/clients.py, which has them where libmemcached's ketama says. */
    private static void ketama(List<InetSocketAddress> servers) throws Exception {
        KetamaConnectionFactory factory = new KetamaConnectionFactory(
            DefaultConnectionFactory.DEFAULT_OP_QUEUE_LEN, DefaultConnectionFactory.DEFAULT_READ_BUFFER_SIZE, TIMEOUT_MILLISECONDS,
            DefaultHashAlgorithm.KETAMA_HASH, KetamaNodeKeyFormatter.Format.LIBMEMCACHED, new HashMap<>()) {
            @Override
            public long getOperationTimeout() {
                return TIMEOUT_MILLISECONDS;
            }
        };
        MemcachedClient client = new MemcachedClient(factory, servers);
        for (int n = 0; n < 1000; n++) {
            String key = "ketama-" + n;
            check(key.equals(client.get(key)), key + " is not where libmemcached put it");
        }
        client.shutdown();
        System.out.println("spymemcached: 1000 keys where libmemcached put them");
    }

    public static void main(String[] servers) throws Exception {
        check(servers.length == 2, "usage: Clients FIRST SECOND");
        System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SunLogger");
        java.util.logging.Logger.getLogger("net.spy.memcached").setLevel(java.util.logging.Level.WARNING);
        try {
            List<InetSocketAddress> both = addresses(servers);
            ketama(both);
            for (Protocol protocol : Arrays.asList(Protocol.TEXT, Protocol.BINARY)) {
                likeAMap(protocol, both);
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
            // A client's threads would keep the program from its end.
            System.exit(1);
        }
    }
}
