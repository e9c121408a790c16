/* Adds types with the reference's libbpf, as the lines of standard input say, and prints what each call returns.
 *
 *   oracle OUT [BASE] < CALLS
 *
 * A line has the name of a call and its arguments; '' is the empty string. The BTF is written to OUT. It uses only the
 * public interface, and of that only the declarations below.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/btf.h>

struct btf;
extern struct btf *btf__new(const void *data, __u32 size);
extern struct btf *btf__new_empty(void);
extern struct btf *btf__new_empty_split(struct btf *base);
extern const void *btf__raw_data(const struct btf *btf, __u32 *size);
extern int btf__add_str(struct btf *, const char *);
extern int btf__add_int(struct btf *, const char *, size_t, int);
extern int btf__add_float(struct btf *, const char *, size_t);
extern int btf__add_ptr(struct btf *, int);
extern int btf__add_array(struct btf *, int, int, __u32);
extern int btf__add_struct(struct btf *, const char *, __u32);
extern int btf__add_union(struct btf *, const char *, __u32);
extern int btf__add_field(struct btf *, const char *, int, __u32, __u32);
extern int btf__add_enum(struct btf *, const char *, __u32);
extern int btf__add_enum_value(struct btf *, const char *, __s64);
extern int btf__add_enum64(struct btf *, const char *, __u32, _Bool);
extern int btf__add_enum64_value(struct btf *, const char *, __u64);
extern int btf__add_fwd(struct btf *, const char *, int);
extern int btf__add_typedef(struct btf *, const char *, int);
extern int btf__add_volatile(struct btf *, int);
extern int btf__add_const(struct btf *, int);
extern int btf__add_restrict(struct btf *, int);
extern int btf__add_type_tag(struct btf *, const char *, int);
extern int btf__add_type_attr(struct btf *, const char *, int);
extern int btf__add_func(struct btf *, const char *, int, int);
extern int btf__add_func_proto(struct btf *, int);
extern int btf__add_func_param(struct btf *, const char *, int);
extern int btf__add_var(struct btf *, const char *, int, int);
extern int btf__add_datasec(struct btf *, const char *, __u32);
extern int btf__add_datasec_var_info(struct btf *, int, __u32, __u32);
extern int btf__add_decl_tag(struct btf *, const char *, int, int);
extern int btf__add_decl_attr(struct btf *, const char *, int, int);

static struct btf *open_base(const char *path)
{
	static char data[64 << 20];
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(data, 1, sizeof(data), f) : 0;

	return btf__new(data, n);
}

int main(int argc, char **argv)
{
	char line[4096], call[64], name[2048];
	struct btf *b;
	const void *raw;
	__u32 size;
	FILE *f;

	if (argc < 2)
		return 2;
	b = argc > 2 ? btf__new_empty_split(open_base(argv[2])) : btf__new_empty();
	while (fgets(line, sizeof(line), stdin)) {
		char *at = line, *word;
		long long n[3] = { 0, 0, 0 };
		int k = 0, r = -1000;

		call[0] = name[0] = 0;
		for (word = strtok(at, " \n"); word; word = strtok(NULL, " \n")) {
			if (!call[0])
				strcpy(call, word);
			else if ((*word < '0' || *word > '9') && *word != '-')
				strcpy(name, strcmp(word, "''") ? word : "");
			else if (k < 3)
				n[k++] = *word == '-' ? strtoll(word, NULL, 0) : (long long)strtoull(word, NULL, 0);
		}
#define IS(s) (!strcmp(call, s))
		if (IS("str")) r = btf__add_str(b, name);
		else if (IS("int")) r = btf__add_int(b, name, n[0], n[1]);
		else if (IS("float")) r = btf__add_float(b, name, n[0]);
		else if (IS("ptr")) r = btf__add_ptr(b, n[0]);
		else if (IS("array")) r = btf__add_array(b, n[0], n[1], n[2]);
		else if (IS("struct")) r = btf__add_struct(b, name, n[0]);
		else if (IS("union")) r = btf__add_union(b, name, n[0]);
		else if (IS("field")) r = btf__add_field(b, name, n[0], n[1], n[2]);
		else if (IS("enum")) r = btf__add_enum(b, name, n[0]);
		else if (IS("value")) r = btf__add_enum_value(b, name, n[0]);
		else if (IS("enum64")) r = btf__add_enum64(b, name, n[0], n[1]);
		else if (IS("value64")) r = btf__add_enum64_value(b, name, n[0]);
		else if (IS("fwd")) r = btf__add_fwd(b, name, n[0]);
		else if (IS("typedef")) r = btf__add_typedef(b, name, n[0]);
		else if (IS("volatile")) r = btf__add_volatile(b, n[0]);
		else if (IS("const")) r = btf__add_const(b, n[0]);
		else if (IS("restrict")) r = btf__add_restrict(b, n[0]);
		else if (IS("type_tag")) r = btf__add_type_tag(b, name, n[0]);
		else if (IS("type_attr")) r = btf__add_type_attr(b, name, n[0]);
		else if (IS("func")) r = btf__add_func(b, name, n[0], n[1]);
		else if (IS("proto")) r = btf__add_func_proto(b, n[0]);
		else if (IS("param")) r = btf__add_func_param(b, name, n[0]);
		else if (IS("var")) r = btf__add_var(b, name, n[0], n[1]);
		else if (IS("datasec")) r = btf__add_datasec(b, name, n[0]);
		else if (IS("place")) r = btf__add_datasec_var_info(b, n[0], n[1], n[2]);
		else if (IS("decl_tag")) r = btf__add_decl_tag(b, name, n[0], n[1]);
		else if (IS("decl_attr")) r = btf__add_decl_attr(b, name, n[0], n[1]);
		printf("%d\n", r);
	}
	raw = btf__raw_data(b, &size);
	f = raw ? fopen(argv[1], "wb") : NULL;
	if (!f || fwrite(raw, 1, size, f) != size || fclose(f))
		return 1;
	return 0;
}
