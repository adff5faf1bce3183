// An allow-list, worked out by running the real analyses with everything else refused. Memory, time, the sockets and
// files already open, and the end of the process: nothing by which bytes could be opened, sent or executed, no second
// thread or process, no signal to another process. Models are loaded before.
#define _GNU_SOURCE
#include "CSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/// Calls that are allowed with any arguments.
static const int allowed[] = {
    // Memory. mmap and mprotect have conditions below.
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
    // Descriptors that are open already: the job socket, the shared image memory, stderr, /proc/self/statm.
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close),
    SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    // Time.
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(restart_syscall),
    // Locks, scheduling and facts about this process.
    SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getcpu), SCMP_SYS(getpid),
    SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getrusage), SCMP_SYS(times), SCMP_SYS(sysinfo), SCMP_SYS(uname),
    SCMP_SYS(getrandom),
    // Signals within the process, and its end.
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(exit), SCMP_SYS(exit_group),
};

int csys_enter_sandbox(void) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (filter == NULL) return -ENOMEM;
    int failure = 0;
    // Not the "exact" variant: some of the calls do not exist on every architecture.
    for (size_t index = 0; index < sizeof allowed / sizeof allowed[0] && failure == 0; index++)
        failure = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, allowed[index], 0, NULL);

    const struct {
        int call;
        struct scmp_arg_cmp condition;
    } conditional[] = {
        // No page becomes executable.
        {SCMP_SYS(mmap), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
        {SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
        // glibc's fstat: a descriptor, not a path.
        {SCMP_SYS(newfstatat), SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH)},
        // send() on a connected socket; an address would be a destination.
        {SCMP_SYS(sendto), SCMP_A4(SCMP_CMP_EQ, 0)},
        {SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_EQ, F_GETFL)},
        // Its own limits only. They were set hard, so none but the soft CPU limit can rise again.
        {SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_EQ, 0)},
        // abort() and raise().
        {SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid())},
    };
    for (size_t index = 0; index < sizeof conditional / sizeof conditional[0] && failure == 0; index++)
        failure = seccomp_rule_add_array(
            filter, SCMP_ACT_ALLOW, conditional[index].call, 1, &conditional[index].condition);
    // A binary tree instead of a list: the many short calls of a decoder do not walk the table.
    if (failure == 0) failure = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (failure == 0) failure = seccomp_load(filter);
    seccomp_release(filter);
    return failure;
}
