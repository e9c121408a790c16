# Maps of files (see mapped_file.py).

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
    /* Maps a regular file that is not empty, and leaves no descriptor open. NULL: errno. */
    static inline void *pybtf_map_file(const char *path, size_t *size, pybtf_state *state) {
        struct stat status;
        void *p = NULL;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), failed;
        if (fd < 0) return NULL;
        if (fstat(fd, &status) == 0) {
            if (!S_ISREG(status.st_mode) || status.st_size == 0) {
                errno = EINVAL;
            } else {
                *size = (size_t)status.st_size;
                *state = pybtf_state_of(&status);
                p = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
                if (p == MAP_FAILED) p = NULL;
            }
        }
        failed = errno;
        close(fd);
        errno = failed;
        return p;
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

cdef enum:
    MAPPED_AROUND = 65536       # bytes that Linux maps around a page that is touched

cdef inline void give_back_around(const uint8_t *map, uint64_t size, uint64_t start, uint64_t end) noexcept nogil:
    # Gives back a part of a map of `size` bytes, and what has been mapped around it.
    start = start - MAPPED_AROUND if start > MAPPED_AROUND else 0
    end = end + MAPPED_AROUND if end + MAPPED_AROUND < size else size
    give_back(map + start, end - start)
