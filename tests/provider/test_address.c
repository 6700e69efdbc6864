/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses that fi_getinfo() makes from nodes, services and hints. */
#include "getinfo.h"

#define TEXT_BYTES 39 /* fi_cay://, 16 characters, -, 12 digits, 0 */
#define TEXT	   "fi_cay://abcdefghijklmnop-00000000beef"

static void expect_text(const void *address, size_t bytes)
{
	assert_non_null(address);
	assert_int_equal(bytes, TEXT_BYTES);
	assert_int_equal(strlen(address), TEXT_BYTES - 1);
	assert_memory_equal(address, "fi_cay://", 9);
	assert_string_equal((const char *)address + 25, "-000000000000");
}

/* There is always a source address, if only the wildcard. */
static void expect_unnamed(void)
{
	expect_text(info->src_addr, info->src_addrlen);
	assert_string_equal(
		info->src_addr, "fi_cay://any.............-000000000000");
}

static void test_hosts(void **state)
{
	static const char *const here[] = { "localhost", "LOCALHOST",
		"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "0.0.0.0",
		"::" };
	static const char *const nowhere[] = { "", "nosuchhost.invalid",
		"192.0.2.1", "2001:db8::1", "127.0.0.1.", "local host",
		"fi_cay://", "fi_cay://abc", "fi_shm://123" };
	char own[256] = "";
	(void)state;
	assert_int_equal(gethostname(own, sizeof(own) - 1), 0);
	assert_int_equal(get(NOW, own, NULL, 0, hints), 0);
	for (unsigned i = 0; i < COUNT(here); i++) {
		assert_int_equal(get(NOW, here[i], NULL, 0, hints), 0);
		assert_null(info->dest_addr);
		expect_unnamed();
	}
	for (unsigned i = 0; i < COUNT(nowhere); i++) {
		assert_int_equal(
			get(NOW, nowhere[i], "7", 0, hints), -FI_ENODATA);
		assert_int_equal(get(NOW, nowhere[i], "7", FI_SOURCE, hints),
			-FI_ENODATA);
	}
}

static void test_numeric(void **state)
{
	(void)state;
	assert_int_equal(get(NOW, "127.0.0.1", "7", FI_NUMERICHOST, hints), 0);
	assert_int_equal(
		get(NOW, "localhost", "7", FI_NUMERICHOST, hints), -FI_ENODATA);
}

static void test_target(void **state)
{
	(void)state;
	assert_int_equal(get(NOW, "127.0.0.1", "47592", 0, hints), 0);
	expect_text(info->dest_addr, info->dest_addrlen);
	expect_unnamed();

	/* A service without a node is one of this host. */
	char *text = strdup(info->dest_addr);
	assert_int_equal(get(NOW, NULL, "47592", 0, NULL), 0);
	assert_string_equal(info->dest_addr, text);
	expect_unnamed();
	free(text);
}

static void test_source(void **state)
{
	(void)state;
	assert_int_equal(get(NOW, NULL, "47592", 0, hints), 0);
	char *text = strdup(info->dest_addr);
	assert_int_equal(get(NOW, NULL, "47592", FI_SOURCE, hints), 0);
	expect_text(info->src_addr, info->src_addrlen);
	assert_string_equal(info->src_addr, text);
	assert_null(info->dest_addr);
	free(text);

	assert_int_equal(get(NOW, "localhost", NULL, FI_SOURCE, hints), 0);
	expect_unnamed();
	assert_int_equal(get(NOW, NULL, "0", FI_SOURCE, hints), 0);
	expect_unnamed();
	assert_int_equal(get(NOW, NULL, NULL, FI_SOURCE, hints), -FI_ENODATA);
}

/* Different services give different addresses, and 47 and 047 the same. */
static void test_services(void **state)
{
	static const char *const services[] = { "1", "10", "01x", "x1", "x",
		"abcdefghijklmn", "99999999999999", "999999999999999" };
	static const char *const none[] = { "a b", "-1", "1.5", "a-b", "\xe4",
		"abcdefghijklmno", "9999999999999999", "fi_cay" };
	char seen[COUNT(services)][TEXT_BYTES];
	(void)state;
	for (unsigned i = 0; i < COUNT(services); i++) {
		assert_int_equal(get(NOW, NULL, services[i], 0, hints), 0);
		expect_text(info->dest_addr, info->dest_addrlen);
		memcpy(seen[i], info->dest_addr, TEXT_BYTES);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(seen[i], seen[j]);
	}
	assert_int_equal(get(NOW, NULL, "00000000000000000010", 0, hints), 0);
	assert_string_equal(info->dest_addr, seen[1]);
	for (unsigned i = 0; i < COUNT(none); i++)
		assert_int_equal(
			get(NOW, NULL, none[i], 0, hints), -FI_ENODATA);
}

static void test_text(void **state)
{
	static const char *const wrong[] = {
		"fi_cay://abcdefghijklmnop-00000000beefa",
		"fi_cay://abcdefghijklmnop-00000000bee",
		"fi_cay://abcdefghijklmnop-00000000beeg",
		"fi_cay://abcdefghijklmno-00000000beef",
		"fi_cay://abcdefgh/jklmnop-00000000beef",
		"fi_cay://abcdefgh jklmnop-00000000beef",
		"fi_cay:/abcdefghijklmnop-00000000beef",
		"fi_cay://abcdefghijklmnop_00000000beef",
	};
	(void)state;
	assert_int_equal(get(NOW, TEXT, NULL, 0, hints), 0);
	assert_string_equal(info->dest_addr, TEXT);
	assert_int_equal(get(NOW, TEXT, NULL, FI_SOURCE, hints), 0);
	assert_string_equal(info->src_addr, TEXT);
	assert_int_equal(get(NOW, TEXT, "7", 0, hints), -FI_ENODATA);
	for (unsigned i = 0; i < COUNT(wrong); i++)
		assert_int_equal(
			get(NOW, wrong[i], NULL, 0, hints), -FI_ENODATA);
}

static void test_hints(void **state)
{
	(void)state;
	hints->src_addr = strdup(TEXT);
	hints->src_addrlen = TEXT_BYTES;
	hints->dest_addr = strdup("fi_cay://ponmlkjihgfedcba-00000000BEEF");
	hints->dest_addrlen = TEXT_BYTES - 1; /* the 0 is not counted */
	grant();
	assert_string_equal(info->src_addr, TEXT);
	assert_string_equal(
		info->dest_addr, "fi_cay://ponmlkjihgfedcba-00000000beef");

	/* Node and service take precedence over the hints. */
	assert_int_equal(get(NOW, NULL, "7", 0, hints), 0);
	assert_string_equal(info->src_addr, TEXT);
	expect_text(info->dest_addr, info->dest_addrlen);
	assert_int_equal(get(NOW, NULL, "7", FI_SOURCE, hints), 0);
	expect_text(info->src_addr, info->src_addrlen);
	assert_string_equal(
		info->dest_addr, "fi_cay://ponmlkjihgfedcba-00000000beef");
}

static void test_wrong_hints(void **state)
{
	(void)state;
	hints->src_addr = strdup(TEXT);
	hints->src_addrlen = 0;
	REFUSE();
	hints->src_addrlen = 20;
	REFUSE();
	hints->src_addrlen = TEXT_BYTES;
	hints->dest_addr = calloc(1, 16); /* such as a sockaddr */
	hints->dest_addrlen = 16;
	REFUSE();
}

static void test_format(void **state)
{
	(void)state;
	hints->addr_format = FI_ADDR_STR;
	grant();
	hints->addr_format = FI_SOCKADDR_IN;
	REFUSE();
	hints->addr_format = 1000;
	REFUSE();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hosts),
		TEST(test_numeric),
		TEST(test_target),
		TEST(test_source),
		TEST(test_services),
		TEST(test_text),
		TEST(test_hints),
		TEST(test_wrong_hints),
		TEST(test_format),
	};
	getinfo_environment();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
