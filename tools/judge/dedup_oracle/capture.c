/* A library to preload into the reference: it writes the BTF as it is just before de-duplication.
 *
 * DEDUP_CAPTURE names the file; DEDUP_CAPTURE_BASE, if set, names one for the base that it is split from. The
 * de-duplication then runs as usual, so one run of pahole gives both the input and the expected result.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/types.h>

struct btf;
extern const void *btf__raw_data(const struct btf *btf, __u32 *size);
extern const struct btf *btf__base_btf(const struct btf *btf);

static void dump(const struct btf *btf, const char *path)
{
	__u32 size = 0;
	const void *raw = btf && path ? btf__raw_data(btf, &size) : NULL;
	FILE *f = raw ? fopen(path, "wb") : NULL;

	if (path && btf && (!f || fwrite(raw, 1, size, f) != size || fclose(f)))
		fprintf(stderr, "capture: cannot write %s\n", path);
}

int btf__dedup(struct btf *btf, const void *opts)
{
	int (*real)(struct btf *, const void *) = (int (*)(struct btf *, const void *))dlsym(RTLD_NEXT, "btf__dedup");

	if (!real) {
		fprintf(stderr, "capture: no btf__dedup to call\n");
		return -1;
	}
	dump(btf__base_btf(btf), getenv("DEDUP_CAPTURE_BASE"));
	dump(btf, getenv("DEDUP_CAPTURE"));
	return real(btf, opts);
}
