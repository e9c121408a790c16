# A mutex and a condition, for the hand-over between workers (ring.py), and a clock.

from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <pthread.h>
    #include <time.h>
    typedef struct { pthread_mutex_t m; pthread_cond_t c; } pybtf_monitor;
    static inline void pybtf_monitor_init(pybtf_monitor *x) {
        pthread_condattr_t how;
        pthread_mutex_init(&x->m, NULL);
        pthread_condattr_init(&how);
        pthread_condattr_setclock(&how, CLOCK_MONOTONIC);   /* somebody may set the other clock back */
        pthread_cond_init(&x->c, &how);
        pthread_condattr_destroy(&how);
    }
    static inline void pybtf_monitor_destroy(pybtf_monitor *x) {
        pthread_cond_destroy(&x->c);
        pthread_mutex_destroy(&x->m);
    }
    static inline void pybtf_enter(pybtf_monitor *x) { pthread_mutex_lock(&x->m); }
    static inline void pybtf_leave(pybtf_monitor *x) { pthread_mutex_unlock(&x->m); }
    static inline void pybtf_notify(pybtf_monitor *x) { pthread_cond_broadcast(&x->c); }
    static inline void pybtf_wait(pybtf_monitor *x, long milliseconds) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_nsec += milliseconds % 1000 * 1000000;
        t.tv_sec += milliseconds / 1000 + t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&x->c, &x->m, &t);
    }
    static inline int64_t pybtf_now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    """
    ctypedef struct Monitor "pybtf_monitor":
        pass
    void monitor_init "pybtf_monitor_init"(Monitor *x) noexcept nogil
    void monitor_destroy "pybtf_monitor_destroy"(Monitor *x) noexcept nogil
    void monitor_enter "pybtf_enter"(Monitor *x) noexcept nogil
    void monitor_leave "pybtf_leave"(Monitor *x) noexcept nogil
    void monitor_notify "pybtf_notify"(Monitor *x) noexcept nogil
    void monitor_wait "pybtf_wait"(Monitor *x, long milliseconds) noexcept nogil
    int64_t now_ns "pybtf_now"() noexcept nogil
