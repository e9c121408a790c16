/* De-duplicates raw BTF with the reference's libbpf.
 *
 *   oracle [-b BASE] [-t] IN OUT [IN OUT ...]
 *   oracle [-b BASE] -m OUT IN [IN ...]
 *
 * Every IN is read, its strings and then its types are added one by one, in order, to a fresh object (split from BASE
 * if one is given), which is de-duplicated and written to OUT. Adding them, instead of parsing IN into the object that
 * is de-duplicated, matters: libbpf leaves the strings of an object that it built itself alone, as it does for pahole.
 * With -m all INs are appended to one such object, each as a whole (btf__add_btf), and the strings stay as that leaves
 * them. -t prints the CPU seconds spent in btf__dedup. It uses only the public interface, and of that only the
 * declarations below.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/btf.h>

struct btf;
enum btf_endianness { BTF_LITTLE_ENDIAN = 0, BTF_BIG_ENDIAN = 1 };
extern struct btf *btf__new(const void *data, __u32 size);
extern struct btf *btf__new_split(const void *data, __u32 size, struct btf *base);
extern struct btf *btf__new_empty(void);
extern struct btf *btf__new_empty_split(struct btf *base);
extern void btf__free(struct btf *btf);
extern const struct btf_type *btf__type_by_id(const struct btf *btf, __u32 id);
extern const char *btf__str_by_offset(const struct btf *btf, __u32 offset);
extern __u32 btf__type_cnt(const struct btf *btf);
extern int btf__add_str(struct btf *btf, const char *s);
extern int btf__add_type(struct btf *btf, const struct btf *from, const struct btf_type *type);
extern int btf__add_btf(struct btf *btf, const struct btf *from);
extern int btf__dedup(struct btf *btf, const void *opts);
extern const void *btf__raw_data(const struct btf *btf, __u32 *size);
extern enum btf_endianness btf__endianness(const struct btf *btf);
extern int btf__set_endianness(struct btf *btf, enum btf_endianness order);

static void *read_all(const char *path, __u32 *size)
{
	FILE *f = fopen(path, "rb");
	long n;
	void *p;

	if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
		return NULL;
	p = malloc(n ? n : 1);
	if (!p || fread(p, 1, n, f) != (size_t)n)
		return NULL;
	fclose(f);
	*size = n;
	return p;
}

static int fail(const char *path, const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", path, what, err ? strerror(err < 0 ? -err : err) : "failed");
	return 1;
}

static __u32 string_length(const struct btf_header *h)
{
	return h->magic == 0xEB9F ? h->str_len : __builtin_bswap32(h->str_len);
}

static int one(const char *in, const char *out, struct btf *base, struct btf *in_base, int timed)
{
	struct timespec t0, t1;
	struct btf *src, *dst;
	const void *raw;
	void *data;
	__u32 size, id, first, at, end, base_strings = 0;
	FILE *f;
	int err;

	data = read_all(in, &size);
	if (!data)
		return fail(in, "read", errno);
	src = base ? btf__new_split(data, size, in_base) : btf__new(data, size);
	if (!src)
		return fail(in, "parse", errno);
	dst = base ? btf__new_empty_split(base) : btf__new_empty();
	if (!dst)
		return fail(in, "new", errno);
	btf__set_endianness(dst, btf__endianness(src));
	if (base)
		base_strings = string_length(btf__raw_data(base, &first));
	/* The strings, in order, so that they keep their offsets. */
	end = string_length(data);
	for (at = base ? 0 : 1; at < end; ) {
		const char *s = btf__str_by_offset(src, base_strings + at);

		err = s ? btf__add_str(dst, s) : -EINVAL;
		if (err < 0)
			return fail(in, "add string", err);
		if ((__u32)err != base_strings + at)
			return fail(in, "a string occurs twice, its offset would change", 0);
		at += strlen(s) + 1;
	}
	first = base ? btf__type_cnt(base) : 1;
	for (id = first; id < btf__type_cnt(src); id++) {
		err = btf__add_type(dst, src, btf__type_by_id(src, id));
		if (err < 0)
			return fail(in, "add type", err);
	}
	btf__free(src);
	free(data);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
	err = btf__dedup(dst, NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
	if (timed)
		printf("%s: %.4f\n", in, t1.tv_sec - t0.tv_sec + (t1.tv_nsec - t0.tv_nsec) / 1e9);
	if (err)
		return fail(in, "de-duplicate", err);
	raw = btf__raw_data(dst, &size);
	f = raw ? fopen(out, "wb") : NULL;
	if (!f || fwrite(raw, 1, size, f) != size || fclose(f))
		return fail(out, "write", errno);
	btf__free(dst);
	return 0;
}

static int many(const char *out, char **in, int n, struct btf *base)
{
	struct btf *dst = base ? btf__new_empty_split(base) : btf__new_empty();
	const void *raw;
	__u32 size;
	FILE *f;
	int i, err;

	for (i = 0; i < n; i++) {
		void *data = read_all(in[i], &size);
		struct btf *src = data ? (base ? btf__new_split(data, size, base) : btf__new(data, size)) : NULL;

		if (!src)
			return fail(in[i], "parse", errno);
		if (i == 0)
			btf__set_endianness(dst, btf__endianness(src));
		err = btf__add_btf(dst, src);
		if (err < 0)
			return fail(in[i], "append", err);
		btf__free(src);
		free(data);
	}
	err = btf__dedup(dst, NULL);
	if (err)
		return fail(out, "de-duplicate", err);
	raw = btf__raw_data(dst, &size);
	f = raw ? fopen(out, "wb") : NULL;
	if (!f || fwrite(raw, 1, size, f) != size || fclose(f))
		return fail(out, "write", errno);
	return 0;
}

int main(int argc, char **argv)
{
	struct btf *base = NULL, *in_base = NULL;
	int i = 1, timed = 0, merge = 0, failed = 0;
	__u32 size;
	void *data;

	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "-t")) {
			timed = 1;
		} else if (!strcmp(argv[i], "-m")) {
			merge = 1;
		} else if (!strcmp(argv[i], "-b") && i + 1 < argc) {
			data = read_all(argv[++i], &size);
			base = data ? btf__new(data, size) : NULL;
			if (!base)
				return fail(argv[i], "base", errno);
			/* IN gets a base of its own: looking up a string can move all strings of the object searched, so
			 * a string of `base` must not be passed to anything that searches `base`. */
			in_base = btf__new(data, size);
			if (!in_base)
				return fail(argv[i], "base", errno);
		} else {
			fprintf(stderr, "usage: oracle [-b BASE] [-t] IN OUT [IN OUT ...]\n");
			return 2;
		}
	}
	if (merge)
		return i + 1 < argc ? many(argv[i], argv + i + 1, argc - i - 1, base) : 2;
	for (; i + 1 < argc; i += 2)
		failed |= one(argv[i], argv[i + 1], base, in_base, timed);
	return failed;
}
