# Maps of files (see mapped_file.py), and reading from them.

from libc.stdint cimport uint8_t, uint64_t

cdef extern from *:
    """
    #include <errno.h>
    #include <fcntl.h>
    #include <stdint.h>
    #include <sys/mman.h>
    #include <sys/stat.h>
    #include <unistd.h>
    /* Gives back the pages that lie wholly within a range of a file mapping; they are read again if needed. */
    static inline void pybtf_give_back(const uint8_t *p, size_t n) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
        uintptr_t from = ((uintptr_t)p + page - 1) & ~(page - 1), to = ((uintptr_t)p + n) & ~(page - 1);
        if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
    }
    typedef struct { dev_t dev; ino_t ino; off_t size; struct timespec written; } pybtf_state;
    static inline pybtf_state pybtf_state_of(const struct stat *status) {
        pybtf_state s = {status->st_dev, status->st_ino, status->st_size, status->st_mtim};
        return s;
    }
    static inline void pybtf_close(int fd) {
        int failed = errno;
        close(fd);
        errno = failed;
    }
    /* Opens a regular file that is not empty. -1: errno. */
    static inline int pybtf_open_regular(const char *path, struct stat *status) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0) return -1;
        if (fstat(fd, status) == 0) {
            if (S_ISREG(status->st_mode) && status->st_size > 0) return fd;
            errno = EINVAL;
        }
        pybtf_close(fd);
        return -1;
    }
    static inline int pybtf_open_sized(const char *path, uint64_t *size) {
        struct stat status;
        int fd = pybtf_open_regular(path, &status);
        if (fd >= 0) *size = (uint64_t)status.st_size;
        return fd;
    }
    /* Reads just so many bytes; 0: there are less, or they cannot be read. */
    static inline int pybtf_read_at(int fd, uint8_t *to, uint64_t n, uint64_t offset) {
        while (n) {
            ssize_t got = pread(fd, to, n < 1 << 30 ? n : 1 << 30, (off_t)offset);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return 0;
            to += got;
            n -= (uint64_t)got;
            offset += (uint64_t)got;
        }
        return 1;
    }
    /* Maps a regular file that is not empty, and leaves no descriptor open. NULL: errno. */
    static inline void *pybtf_map_file(const char *path, size_t *size, pybtf_state *state) {
        struct stat status;
        int fd = pybtf_open_regular(path, &status);
        void *p;
        if (fd < 0) return NULL;
        *size = (size_t)status.st_size;
        *state = pybtf_state_of(&status);
        p = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
        pybtf_close(fd);
        return p == MAP_FAILED ? NULL : p;
    }
    /* Whether the file that was mapped is still there by this name, and somebody has written to it. */
    static inline int pybtf_was_written(const char *path, const pybtf_state *state) {
        struct stat status;
        pybtf_state now;
        if (stat(path, &status)) return 0;
        now = pybtf_state_of(&status);
        return now.dev == state->dev && now.ino == state->ino &&
               (now.size != state->size || now.written.tv_sec != state->written.tv_sec ||
                now.written.tv_nsec != state->written.tv_nsec);
    }
    static inline void pybtf_unmap(void *p, size_t size) { munmap(p, size); }
    """
    void give_back "pybtf_give_back"(const uint8_t *p, size_t n) noexcept nogil
    ctypedef struct FileState "pybtf_state":
        pass
    void *map_file "pybtf_map_file"(const char *path, size_t *size, FileState *state) noexcept nogil
    bint written_since "pybtf_was_written"(const char *path, const FileState *state) noexcept nogil
    void unmap "pybtf_unmap"(void *p, size_t size) noexcept nogil
    int open_sized "pybtf_open_sized"(const char *path, uint64_t *size) noexcept nogil     # -1: no file, or none that is regular and not empty
    bint read_at "pybtf_read_at"(int fd, uint8_t *to, uint64_t n, uint64_t offset) noexcept nogil  # False: not so many
    void close_file "pybtf_close"(int fd) noexcept nogil

cdef enum:
    MAPPED_AROUND = 65536       # bytes that Linux maps around a page that is touched

cdef inline void give_back_around(const uint8_t *map, uint64_t size, uint64_t start, uint64_t end) noexcept nogil:
    # Gives back a part of a map of `size` bytes, and what has been mapped around it.
    start = start - MAPPED_AROUND if start > MAPPED_AROUND else 0
    end = end + MAPPED_AROUND if end + MAPPED_AROUND < size else size
    give_back(map + start, end - start)
