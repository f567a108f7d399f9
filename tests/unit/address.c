/*
 * Goal: addresses of servers are read as they are documented, what is wrong is
 * refused, and no message or argument shows a password.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/components.h"
#include "base/passwords.h"
#include "redis/address.h"
#include "tap.h"

static int
same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static int
same_hosts(const struct address *a, const struct address *b)
{
	int all = a->count == b->count;

	for (size_t i = 0; all && i < a->count; i++)
		all = same(a->hosts[i].name, b->hosts[i].name) &&
		    a->hosts[i].port == b->hosts[i].port;
	return all;
}

static void
is(const char *text, struct address want)
{
	struct address got;
	struct error error = { 0 };
	int ok = address_parse(&got, text, &error) == 0;

	if (!tap_ok(ok, "%s is an address", text)) {
		printf("# %s\n", error.text);
		return;
	}
	tap_ok(same_hosts(&got, &want) &&
	    same(got.path, want.path) && same(got.user, want.user) &&
	    same(got.password, want.password) && same(got.name, want.name) &&
	    got.tls == want.tls && same(got.certificate, want.certificate) &&
	    same(got.shown, want.shown), "and read as it is meant");
	printf("# %zu hosts path %s user %s password %s name %s shown"
	    " %s\n", got.count, got.path, got.user, got.password,
	    got.name, got.shown);
	address_free(&got);
}

static void
refused(const char *text, const char *why)
{
	struct address got;
	struct error error = { 0 };
	int ok = address_parse(&got, text, &error) < 0;

	tap_ok(ok && error.status == STATUS_USAGE && strstr(error.text, why) !=
	    NULL && strstr(error.text, "secret") == NULL, "%s is refused: %s",
	    text, error.text);
}

#define HOST(name, port) .hosts = { { name, port } }, .count = 1
#define A(...) (struct address){ __VA_ARGS__ }

static void
addresses(void)
{
	static char h[] = "h", seen[] = "seen", pw[] = "secret", u[] = "u";
	static char shown[] = "redis://h/seen", v6[] = "::1";
	static char user[] = "redis://h:7/seen", empty[] = "";
	static char sock[] = "/run/r.sock";
	static char sock_shown[] = "redis+unix:///run/r.sock?name=seen";
	static char v6_shown[] = "redis://[::1]:8/seen";
	static char capital[] = "Redis://h:7/seen";
	static char valkey[] = "valkey://h/seen";
	static char odd[] = "s@c:r%t/", odd_name[] = "a/b%c";
	static char odd_shown[] = "redis://h/a%2Fb%25c";
	static char unnamed[] = "s3cret";
	static char several[] = "redis://h:7,[::1]:8,h/seen";

	is("redis://h:7,[::1]:8,h/seen", A(.hosts = { { h, 7 }, { v6, 8 },
	    { h, 6379 } }, .count = 3, .name = seen, .shown = several));
	is("redis://h/seen", A(HOST(h, 6379), .name = seen,
	    .shown = shown));
	is("redis://u:secret@h:7/seen", A(HOST(h, 7), .user = u,
	    .password = pw, .name = seen, .shown = user));
	is("redis://:secret@h/seen", A(HOST(h, 6379),
	    .password = pw, .name = seen, .shown = shown));
	is("redis://s3cret@h/seen", A(HOST(h, 6379),
	    .user = unnamed, .name = seen, .shown = shown));
	is("Redis://u:secret@h:7/seen", A(HOST(h, 7), .user = u,
	    .password = pw, .name = seen, .shown = capital));
	is("valkey://h/seen", A(HOST(h, 6379), .name = seen,
	    .shown = valkey));
	is("redis://u:s%40c:r%25t%2F@h/a%2Fb%25c", A(HOST(h, 6379),
	    .user = u, .password = odd, .name = odd_name,
	    .shown = odd_shown));
	is("redis://u:@h:7/seen", A(HOST(h, 7), .user = u,
	    .password = empty, .name = seen, .shown = user));
	is("redis://[::1]:8/seen", A(HOST(v6, 8), .name = seen,
	    .shown = v6_shown));
	is("redis+unix:///run/r.sock?name=seen", A(.path = sock,
	    .name = seen, .shown = sock_shown));
	setenv("REDISCLI_AUTH", "secret", 1);
	is("redis://h/seen", A(HOST(h, 6379), .password = pw,
	    .name = seen, .shown = shown));
	unsetenv("REDISCLI_AUTH");
}

static void
tls(void)
{
	static char h[] = "h", n[] = "n", pem[] = "a b.pem", pw[] = "secret";
	static char u[] = "u", shown[] = "rediss://h/n?certificate=a%20b.pem";

	if (component_name(COMPONENT_TLS) == NULL) {
		refused("rediss://u:secret@h/a", "stunnel");
		return;
	}
	is("rediss://u:secret@h/n?certificate=a%20b.pem", A(HOST(h, 6379),
	    .tls = 1, .user = u, .password = pw, .certificate = pem, .name = n,
	    .shown = shown));
	refused("rediss://u:secret@h/a?certificate=%", "%");
	refused("rediss://u:secret@h/a?certificat=x", "certificate=FILE");
}

/* What a message with this text shows. */
static const char *
message(const char *text)
{
	static char shown[500];
	size_t n = 0, taken;

	for (const char *at = text; *at != '\0'; at += taken) {
		taken = passwords_at(text, at);
		if (taken > 0)
			strcpy(shown + n, PASSWORDS_HIDDEN);
		else
			shown[n] = *at, shown[n + 1] = '\0', taken = 1;
		n += strlen(shown + n);
	}
	return shown;
}

static void
hiding(void)
{
	static const char *const given[] = { "bloomdedup",
		"-fredis://u:secret@h/n", "--filter=redis://:secret@h/m",
		"redis://h/n", "REDIS://secret@h/x", "a:b@c",
		"redis+unix://:secret@/s?name=n", "redis:u:secret@h",
		"-qfvalkeys:secret@h", "redis://:one@h/two",
		"redis://:two@h/two", "redis+tls://u:secret@h/x",
		" unix://u:secret@h", "--like=keydb://u:se@cret@h/x",
		"h?Password=secret&x", "x://h?a=b&password=secret",
		"x://h?password=a@secret", "x://u:secret@h?password=secret" };
	enum { COUNT = sizeof given / sizeof *given };
	/* As the arguments of a process are: there until it ends. */
	static char *words[COUNT], *before[COUNT];
	struct address one, two;
	struct error error;

	for (int i = 0; i < COUNT; i++)
		words[i] = before[i] = strdup(given[i]);
	tap_ok(passwords_take(COUNT, words) == 0, "passwords are noted");
	for (int i = 0; i < COUNT; i++) {
		tap_ok(strstr(before[i], "secret") == NULL &&
		    strstr(before[i], "cret@") == NULL,
		    "others see no password: %s", before[i]);
		tap_ok(same(words[i], given[i]), "the program sees it: %s",
		    words[i]);
		tap_ok(strstr(message(given[i]), "secret") == NULL,
		    "a message shows no password: %s", message(given[i]));
	}
	tap_ok(same(message("redis+tls://u:secret@h/x: no"),
	    "redis+tls://***@h/x: no") && same(message("h?Password=secret&x"),
	    "h?Password=***&x"), "what is hidden can be seen");
	tap_ok(same(message("the secret of u"), "the secret of u") &&
	    same(message("://u"), "://***") && same(message("a//b"), "a//b"),
	    "other words stay, and a secret that a message cuts goes");
	tap_ok(address_parse(&one, words[9], &error) == 0 &&
	    address_parse(&two, words[10], &error) == 0 &&
	    same(one.password, "one") && same(two.password, "two") &&
	    same(one.shown, two.shown),
	    "two that are shown alike have their own passwords");
	address_free(&one);
	address_free(&two);
	tap_ok(words[3] == before[3] && words[5] == before[5],
	    "other arguments are left alone");
}

int
main(void)
{
	unsetenv("REDISCLI_AUTH");
	addresses();
	tls();
	hiding();
	refused("redis://u:secret@h", "name");
	refused("redis://u:secret@h/", "name");
	refused("redis://u:secret@/n", "host");
	refused("redis://u:secret@h:0/n", "port");
	refused("redis://u:secret@h,/n", "host");
	refused("redis://u:secret@h,,h/n", "host");
	refused("redis://u:secret@h:65536/n", "port");
	refused("redis://u:secret@h:x/n", "port");
	refused("redis://u:secret@[::1/n", "]");
	refused("redis://u:secret@h/a{b", "braces");
	refused("redis://u:secret@h/a%7db", "braces");
	refused("redis://u:secret@h/a%20b", "blanks");
	refused("redis://u:secret@h/a%0ab", "control");
	refused("redis://u:secret@h/a%", "%");
	refused("redis://u:secret@h/a%0", "%");
	refused("redis://u:secret@h/a%00", "%");
	refused("redis://u:secret%@h/a", "%");
	refused("redis://u:secret@h/a?x=y", "%3F");
	refused("redis://u:secret@h/a?certificate=x", "rediss://");
	refused("redis://u:/secret?#@h:x/a", "port");
	refused("redis://u:secret@h/0", "database");
	refused("redis://u:secret@h/0/n", "database");
	refused("redis:u:secret@h", "redis://");
	refused("redis:seen", "redis://");
	refused("seen", "not the address of a server");
	refused("", "not the address of a server");
	refused("a@b:c", "not the address of a server");
	refused("redis+unix://h/a?name=b", "/");
	refused("redis+unix:///a", "name");
	refused("redis+unix:///a?certificate=x", "name");
	refused("redis+unix://?name=x", "PATH");
	tap_ok(address_is_server("redis:x") &&
	    address_is_server("VALKEY://") && address_is_server("rediss://")
	    && address_is_server("redis+unix:///") &&
	    !address_is_server("./redis:x") && !address_is_server("a.bloom"),
	    "a server's address is told from a file's name");
	tap_ok(address_is_foreign("http://h/x") && address_is_foreign(
	    " redis://h/x") && address_is_foreign("redis+tls://h/x") &&
	    !address_is_foreign("redis://h/x") &&
	    !address_is_foreign("./http://h/x") &&
	    !address_is_foreign("a:b/x"),
	    "an address of something else is told from both");
	return tap_end();
}
