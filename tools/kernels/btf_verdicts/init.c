/* The first program of a guest that judges BTF. It loads the files in /user with BPF_BTF_LOAD and those in /module as
 * modules, one after the other, and prints a line for each; then a program, which makes the kernel read its own BTF.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *take(const char *path, size_t *size)
{
    struct stat about;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &about))
        return NULL;
    char *data = malloc(about.st_size + 1);
    size_t got = 0;
    ssize_t n;
    while (data && (n = read(file, data + got, about.st_size - got)) > 0)
        got += n;
    close(file);
    *size = got;
    return data;
}

static void user(const char *name, const char *data, size_t size)
{
    union bpf_attr what;
    memset(&what, 0, sizeof what);
    what.btf = (__u64)(unsigned long)data;
    what.btf_size = size;
    long descriptor = syscall(SYS_bpf, BPF_BTF_LOAD, &what, sizeof what);
    printf("VERDICT user %s %d\n", name, descriptor < 0 ? errno : 0);
    if (descriptor >= 0)
        close(descriptor);
}

static void module(const char *name, const char *data, size_t size)
{
    int code = syscall(SYS_init_module, data, size, "numdummies=0") ? errno : 0;
    printf("VERDICT module %s %d %s\n", name, code, access("/sys/kernel/btf/dummy", F_OK) ? "no" : "btf");
    if (!code && syscall(SYS_delete_module, "dummy", O_NONBLOCK))
        printf("VERDICT stuck %s %d\n", name, errno);
}

static void all(const char *folder, void (*each)(const char *, const char *, size_t))
{
    DIR *listed = opendir(folder);
    struct dirent *entry;
    while (listed && (entry = readdir(listed))) {
        char path[512];
        size_t size;
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        char *data = take(path, &size);
        if (data)
            each(entry->d_name, data, size);
        free(data);
        fflush(stdout);
    }
}

static void program(void)
{
    /* r0 = 0; exit */
    static const struct bpf_insn code[] = {{.code = 0xb7}, {.code = 0x95}};
    union bpf_attr what;
    memset(&what, 0, sizeof what);
    what.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    what.insns = (__u64)(unsigned long)code;
    what.insn_cnt = 2;
    what.license = (__u64)(unsigned long)"GPL";
    printf("VERDICT vmlinux - %d\n", syscall(SYS_bpf, BPF_PROG_LOAD, &what, sizeof what) < 0 ? errno : 0);
}

int main(void)
{
    mount("none", "/proc", "proc", 0, NULL);
    mount("none", "/sys", "sysfs", 0, NULL);
    setvbuf(stdout, NULL, _IONBF, 0);
    program();
    all("/user", user);
    all("/module", module);
    printf("VERDICT end - 0\n");
    sync();
    reboot(RB_AUTOBOOT);
    return 0;
}
