# The signals that end a process (see end_signals.py).

cdef extern from *:
    """
    #include <signal.h>
    static inline void pybtf_end_signals(sigset_t *set) {
        sigemptyset(set);
        sigaddset(set, SIGTERM);
        sigaddset(set, SIGHUP);
        sigaddset(set, SIGINT);
    }
    """
    ctypedef struct sigset_t:
        pass
    enum: SIG_BLOCK
    enum: SIG_SETMASK
    void end_signals_of "pybtf_end_signals"(sigset_t *set) noexcept nogil
    int mask_signals "pthread_sigmask"(int how, const sigset_t *set, sigset_t *before) noexcept nogil
