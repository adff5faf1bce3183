// An allow-list, worked out by running the real analyses with everything else refused. Memory, time, the sockets and
// files already open, and the end of the process: nothing by which bytes could be opened, sent or executed, no second
// thread or process, no signal to another process. Models are loaded before.
//
// What is the same for every analyzer is made once, by the parent: the filter as a program of the kernel's, and the rules of
// Landlock. A fork only puts them on.
#define _GNU_SOURCE
#include "CSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Calls that are allowed with any arguments.
static const int allowed[] = {
    // Memory. mmap and mprotect have conditions below.
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    // Descriptors that are open already: the job socket, the shared image memory, stderr, /proc/self/statm.
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(pread64),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(recvfrom),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendmsg),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    // Time.
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(restart_syscall),
    // Locks, scheduling and facts about this process.
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(getcpu),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getppid),
    SCMP_SYS(getrusage),
    SCMP_SYS(times),
    SCMP_SYS(sysinfo),
    SCMP_SYS(uname),
    SCMP_SYS(getrandom),
    // Signals within the process, and its end.
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

/// Calls that no library makes by mistake: a process that makes one was taken over, and gets no second try.
static const int deadly[] = {
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(connect),
    SCMP_SYS(mount),  SCMP_SYS(bpf),      SCMP_SYS(keyctl),
};

/// Stands in the table for the process's own number, which each fork puts in its place.
static const uint32_t own_pid = 0x7fe1d0c5;

enum { longest_filter = 4096 };
static struct sock_filter filter_program[longest_filter];
static unsigned short filter_length, filter_pid;

static int build_filter(scmp_filter_ctx filter) {
    int failure = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    // Not the "exact" variant: some of the calls do not exist on every architecture.
    for (size_t index = 0; index < sizeof allowed / sizeof allowed[0] && failure == 0; index++)
        failure = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, allowed[index], 0, NULL);
    for (size_t index = 0; index < sizeof deadly / sizeof deadly[0] && failure == 0; index++)
        failure = seccomp_rule_add_array(filter, SCMP_ACT_KILL_PROCESS, deadly[index], 0, NULL);

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
        // Its own limits only. They were set hard, so none but the soft CPU limit can rise again, and that up to the hard one.
        {SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_EQ, 0)},
        // abort() and raise().
        {SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, own_pid)},
    };
    for (size_t index = 0; index < sizeof conditional / sizeof conditional[0] && failure == 0; index++)
        failure =
            seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, conditional[index].call, 1, &conditional[index].condition);
    // A binary tree instead of a list: the many short calls of a decoder do not walk the table.
    if (failure == 0) failure = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    return failure;
}

/// Keeps the filter as the kernel takes it.
static int export_filter(scmp_filter_ctx filter) {
    int file = memfd_create("filter", MFD_CLOEXEC);
    if (file < 0) return -errno;
    int failure = seccomp_export_bpf(filter, file);
    ssize_t size = failure == 0 ? pread(file, filter_program, sizeof filter_program, 0) : 0;
    close(file);
    if (failure != 0) return failure;
    if (size <= 0 || (size_t)size >= sizeof filter_program) return -EFBIG;
    filter_length = (unsigned short)((size_t)size / sizeof filter_program[0]);
    int found = 0;
    for (unsigned short index = 0; index < filter_length; index++) {
        struct sock_filter *step = &filter_program[index];
        if (step->code != (BPF_JMP | BPF_JEQ | BPF_K) || step->k != own_pid) continue;
        filter_pid = index;
        found++;
    }
    return found == 1 ? 0 : -ENOTRECOVERABLE;
}

/// What landlock_create_ruleset takes (linux/landlock.h of 6.12; older headers lack the last fields).
struct ruleset {
    uint64_t files, network, scoped;
};

int csys_landlock_version(void) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u /* LANDLOCK_CREATE_RULESET_VERSION */);
    return version < 0 ? -errno : (int)version;
}

int csys_seccomp_available(void) {
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0) return 0;
    // Refused by a filter around the service: then there are filters.
    return prctl(PR_GET_SECCOMP) >= 0 ? 0 : -errno;
}

/// -1: the kernel, or what confines the service, offers none.
static int rules = -1;

static int make_rules(void) {
    int version = csys_landlock_version();
    // Absent, switched off at boot, or refused by a filter around the service: the system-call filter remains.
    if (version < 1) return version == -ENOSYS || version == -EOPNOTSUPP || version == -EPERM ? 0 : version;
    // Everything that the version knows is forbidden, since nothing is added.
    struct ruleset set = {
        .files = version >= 5   ? 0xffff
                 : version >= 3 ? 0x7fff
                 : version == 2 ? 0x3fff
                                : 0x1fff,
        .network = version >= 4 ? 3 : 0,
        .scoped = version >= 6 ? 3 : 0,
    };
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    rules = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0u);
    return rules < 0 ? -errno : 0;
}

int csys_prepare_sandbox(void) {
    // What the kernel has is not asked: a filter around the service may refuse seccomp(2), by which the library would ask, and
    // let prctl pass. Level 3: ending the whole process, Linux 4.14.
    (void)seccomp_api_set(3);
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (filter == NULL) return -ENOMEM;
    int failure = build_filter(filter);
    if (failure == 0) failure = export_filter(filter);
    seccomp_release(filter);
    return failure == 0 ? make_rules() : failure;
}

int csys_drop_capabilities(void) {
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return -errno;
    // This needs a capability itself; a process without any has nothing that the bounding set could let through.
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM) return -errno;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3], none[_LINUX_CAPABILITY_U32S_3];
    memset(none, 0, sizeof none);
    if (syscall(SYS_capget, &header, held) != 0) return -errno;
    // A unit's filter may refuse capset; a process without capabilities need not call it.
    if (memcmp(held, none, sizeof none) == 0) return 0;
    return syscall(SYS_capset, &header, none) == 0 ? 0 : -errno;
}

int csys_forbid_files(void) {
    if (rules < 0) return 0;
    if (syscall(SYS_landlock_restrict_self, rules, 0u) != 0) return -errno;
    close(rules);
    return 0;
}

int csys_enter_sandbox(void) {
    if (filter_length == 0) return -EINVAL;
    filter_program[filter_pid].k = (uint32_t)getpid();
    struct sock_fprog program = {.len = filter_length, .filter = filter_program};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, &program) == 0) return 0;
    // The older way to the same.
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? 0 : -errno;
}
