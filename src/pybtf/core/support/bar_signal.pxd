# What SIGTERM does while a bar is shown (see bar_signal.py).

cdef extern from *:
    """
    #include <errno.h>
    #include <signal.h>
    #include <unistd.h>
    static struct sigaction pybtf_bar_before;
    static void pybtf_bar_end(int number) {
        int error = errno;
        (void)!write(2, "\\r\\x1b[K", 4);
        if (pybtf_bar_before.sa_handler == SIG_DFL) {
            sigaction(number, &pybtf_bar_before, NULL);
            raise(number);
        } else {
            pybtf_bar_before.sa_handler(number);
        }
        errno = error;
    }
    static int pybtf_bar_is_set(struct sigaction *now) {
        return !sigaction(SIGTERM, NULL, now) && !(now->sa_flags & SA_SIGINFO) && now->sa_handler == pybtf_bar_end;
    }
    static void pybtf_bar_set(void) {
        struct sigaction now;
        if (pybtf_bar_is_set(&now) || now.sa_flags & SA_SIGINFO || now.sa_handler == SIG_IGN) return;
        pybtf_bar_before = now;
        now.sa_handler = pybtf_bar_end;
        sigaction(SIGTERM, &now, NULL);
    }
    static void pybtf_bar_reset(void) {
        struct sigaction now;
        if (pybtf_bar_is_set(&now)) sigaction(SIGTERM, &pybtf_bar_before, NULL);
    }
    """
    void bar_set "pybtf_bar_set"()
    void bar_reset "pybtf_bar_reset"()
