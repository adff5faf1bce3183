#define _GNU_SOURCE
#include "CSystem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/// Analyzers are the first that the kernel's out-of-memory killer takes (proc(5): -1000 to 1000, 0 is neutral).
static const char oom_score[] = "500";

int csys_spawn(const char *path, char *const *arguments, char *const *environment, int control, int error, pid_t *pid) {
    // Out of the way of 0 to 3, which the file actions overwrite.
    int high_control = fcntl(control, F_DUPFD_CLOEXEC, 10);
    if (high_control < 0) return -errno;
    int high_error = fcntl(error, F_DUPFD_CLOEXEC, 10);
    if (high_error < 0) {
        int failure = errno;
        close(high_control);
        return -failure;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, high_error, 2);
    posix_spawn_file_actions_adddup2(&actions, high_control, CSYS_CONTROL_DESCRIPTOR);
    posix_spawn_file_actions_addclosefrom_np(&actions, CSYS_CONTROL_DESCRIPTOR + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int failure = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(high_control);
    close(high_error);
    return -failure;
}

pid_t csys_fork(void) {
    pid_t pid = fork();
    if (pid < 0) return -errno;
    // Parent and child both set it, so that the group exists whichever runs first.
    setpgid(pid, pid == 0 ? 0 : pid);
    return pid;
}

pid_t csys_fork_program(char *const *environment, int control, int error) {
    pid_t pid = csys_fork();
    if (pid != 0) return pid;
    for (char **variable = environ; variable != NULL && *variable != NULL; variable++)
        explicit_bzero(*variable, strlen(*variable));
    clearenv();
    for (; *environment != NULL; environment++) putenv(*environment);
    // Out of the way of 0 to 3, as in csys_spawn.
    int high_control = fcntl(control, F_DUPFD_CLOEXEC, 10), high_error = fcntl(error, F_DUPFD_CLOEXEC, 10);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (high_control < 0 || high_error < 0 || nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 1) < 0 ||
        dup2(high_error, 2) < 0 || dup2(high_control, CSYS_CONTROL_DESCRIPTOR) < 0)
        _exit(71);  // EX_OSERR
    return 0;
}

int csys_thread_count(void) {
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) return -errno;
    int count = 0;
    for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks))
        if (entry->d_name[0] != '.') count++;
    closedir(tasks);
    return count;
}

static uint64_t cpu_microseconds(const struct rusage *usage) {
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static void describe_end(csys_exit *end, pid_t pid, int status, const struct rusage *usage) {
    end->pid = pid;
    end->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->dumped_core = WIFSIGNALED(status) && WCOREDUMP(status);
    end->max_rss_bytes = (uint64_t)usage->ru_maxrss * 1024u;
    end->cpu_microseconds = cpu_microseconds(usage);
}

int csys_reap_any(csys_exit *end) {
    int status;
    struct rusage usage;
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) return 0;
    describe_end(end, pid, status, &usage);
    return 1;
}

int csys_has_exited(pid_t pid, int timeout_ms) {
    // A pid names its process until it is reaped, and only the caller reaps it, so the handle is the right one.
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    if (handle < 0) return errno == ESRCH ? 1 : -errno;
    struct pollfd entry = {.fd = handle, .events = POLLIN};
    int ready;
    do ready = poll(&entry, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    close(handle);
    return ready != 0;
}

int csys_reap(pid_t pid, int timeout_ms, csys_exit *end) {
    int exited = csys_has_exited(pid, timeout_ms);
    if (exited <= 0) return exited == 0 ? -ETIMEDOUT : exited;
    int status;
    struct rusage usage;
    pid_t reaped;
    do reaped = wait4(pid, &status, 0, &usage);
    while (reaped < 0 && errno == EINTR);
    if (reaped < 0) return -errno;
    describe_end(end, pid, status, &usage);
    return 0;
}

int csys_kill(pid_t pid) {
    if (pid <= 1) return -EINVAL;
    return kill(pid, SIGKILL) == 0 ? 0 : -errno;
}

int csys_kill_group(pid_t group) {
    if (group <= 1) return -EINVAL;
    return kill(-group, SIGKILL) == 0 ? 0 : -errno;
}

int csys_child_signal_descriptor(void) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &mask, NULL) != 0) return -errno;
    int descriptor = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

static int limit(int resource, rlim_t soft, rlim_t hard) {
    struct rlimit value = {.rlim_cur = soft, .rlim_max = hard};
    return setrlimit((__rlimit_resource_t)resource, &value) == 0 ? 0 : -errno;
}

/// A crash ends the process as the kernel does it. Swift's own handlers print registers with the memory that these point to.
static void default_crash_signals(void) {
    static const int crashes[] = {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++) signal(crashes[i], SIG_DFL);
}

int csys_disable_core_dumps(void) {
    default_crash_signals();
    // The limit does not hold for a core_pattern that is a pipe; not being dumpable does.
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return -errno;
    return limit(RLIMIT_CORE, 0, 0);
}

/// Smaller blocks come from the heap, which keeps what is freed. glibc would map each of an image's temporaries again, and the
/// kernel would clear every page of it.
static const int mapped_from = 32 << 20;

/// Where the heap ended before there was anything to keep: about where it begins.
static uintptr_t heap_begin;

int csys_prepare_parent(int last_open) {
    heap_begin = (uintptr_t)sbrk(0);
    mallopt(M_MMAP_THRESHOLD, mapped_from);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 8 << 20);
    if (close_range((unsigned)last_open + 1, ~0u, 0) != 0) return -errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    default_crash_signals();
    return limit(RLIMIT_CORE, 0, 0);
}

/// The first field of /proc/self/statm, in bytes.
static int64_t mapped_bytes(void) {
    int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (statm < 0) return -errno;
    char text[128] = {0};
    ssize_t count = pread(statm, text, sizeof text - 1, 0);
    close(statm);
    long long pages;
    if (count <= 0 || sscanf(text, "%lld", &pages) != 1) return -EIO;
    return pages * sysconf(_SC_PAGESIZE);
}

/// What the parent has mapped, and so each of its forks.
static int64_t mapped;

/// Takes what is free below `top`, for good: a fork that wrote there would copy one small page after the other, and gets whole
/// empty ones at the heap's end.
static void fill_holes(uintptr_t top) {
    for (size_t size = 4 << 20; size >= 256; size /= 2) {
        for (;;) {
            void *volatile block = malloc(size);
            if (block == NULL) break;
            if ((uintptr_t)block < top) continue;
            free(block);
            break;
        }
    }
}

int csys_prepare_forks(void) {
    const uintptr_t page = 2 << 20, small = (uintptr_t)sysconf(_SC_PAGESIZE);
    malloc_trim(0);
    fill_holes((uintptr_t)sbrk(0) - 2 * small);
    // Gives back what the search touched above: a large page comes only where no small one ever was.
    malloc_trim(0);
    // What the parent itself still needs lies apart from the room.
    void *volatile own = malloc(128 << 10);
    malloc_trim(0);
    // Up to the end of the large page that was begun, so that the first of the room is whole. The heap's last block has its
    // head in the small page before it.
    uintptr_t left = -(uintptr_t)sbrk(0) & (page - 1);
    if (left < 4 * small) left += page;
    void *volatile rest = malloc(left - 3 * small);
    (void)rest;
    malloc_trim(0);
    const uintptr_t top = (uintptr_t)sbrk(0);
    // Room at the heap's end.
    void *volatile room = malloc((size_t)mapped_from - (1 << 20));
    free(room);
    free(own);
    const uintptr_t start = (heap_begin + page - 1) & -page, end = (uintptr_t)sbrk(0) & -page, used = top & -page;
    if (start < end) madvise((void *)start, end - start, MADV_HUGEPAGE);
    // Large pages also of what is there: a fork shares each by one entry of its tables instead of 512. Kernels before 6.1 refuse.
    if (start < used) madvise((void *)start, used - start, 25 /* MADV_COLLAPSE */);
    mapped = mapped_bytes();
    return mapped < 0 ? (int)mapped : 0;
}

int csys_prepare_child(pid_t parent, int error, uint64_t address_space, uint64_t cpu_seconds) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return -errno;
    if (getppid() != parent) return -ESRCH;  // it died before the line above
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(error, 2) < 0) return -errno;
    // Before the process stops being dumpable: after that its files in /proc belong to root. Not being allowed to
    // raise the score (a container that hides /proc) costs nothing but the preference.
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        ssize_t written = write(score, oom_score, sizeof oom_score - 1);
        (void)written;
        close(score);
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
    int failure = csys_disable_core_dumps();
    rlim_t space = (rlim_t)mapped + address_space;
    if (failure == 0) failure = limit(RLIMIT_AS, space, space);
    if (failure == 0) failure = limit(RLIMIT_CPU, cpu_seconds, cpu_seconds);
    if (failure == 0) failure = limit(RLIMIT_FSIZE, 0, 0);
    if (failure == 0) failure = limit(RLIMIT_NOFILE, 16, 16);
    return failure;
}

int csys_renew_cpu_limit(uint64_t seconds) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return -errno;
    // RLIMIT_CPU counts whole seconds, so the started one is given on top.
    rlim_t used = (rlim_t)(cpu_microseconds(&usage) / 1000000u) + 1;
    struct rlimit value;
    if (getrlimit(RLIMIT_CPU, &value) != 0) return -errno;
    value.rlim_cur = used + seconds;
    if (value.rlim_max != RLIM_INFINITY && value.rlim_cur > value.rlim_max) value.rlim_cur = value.rlim_max;
    return setrlimit(RLIMIT_CPU, &value) == 0 ? 0 : -errno;
}

void csys_exit_now(int status) { _exit(status); }

const char *csys_signal_name(int signal) {
    static _Thread_local char name[16];
    const char *abbreviation = sigabbrev_np(signal);
    if (abbreviation == NULL) return NULL;
    snprintf(name, sizeof name, "SIG%s", abbreviation);
    return name;
}
