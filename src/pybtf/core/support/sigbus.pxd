# What to do about SIGBUS (see sigbus.py).

cdef extern from *:
    """
    #include <signal.h>
    #include <string.h>
    #include <unistd.h>
    static char pybtf_bus_text[1024];
    static struct sigaction pybtf_bus_before;
    static void pybtf_bus(int number, siginfo_t *info, void *context) {
        (void)context;
        if (info->si_code == BUS_ADRERR) {
            (void)!write(2, pybtf_bus_text, strlen(pybtf_bus_text));
            _exit(1);
        }
        sigaction(number, &pybtf_bus_before, NULL);     /* something else: as if this handler had not been there */
        raise(number);
    }
    static int pybtf_bus_set(const char *text) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = pybtf_bus;
        action.sa_flags = SA_SIGINFO;
        strncpy(pybtf_bus_text, text, sizeof pybtf_bus_text - 1);
        return sigaction(SIGBUS, &action, &pybtf_bus_before);
    }
    static void pybtf_bus_reset(void) { sigaction(SIGBUS, &pybtf_bus_before, NULL); }
    """
    int bus_set "pybtf_bus_set"(const char *text)
    void bus_reset "pybtf_bus_reset"()
