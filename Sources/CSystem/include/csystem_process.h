// Processes: starting, forking, limiting, reaping.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// The descriptor at which a spawned analyzer finds its control socket.
#define CSYS_CONTROL_DESCRIPTOR 3

/// Starts a program in its own process group, with exactly this environment, descriptor 3 = `control`,
/// 2 = `error`, 0 and 1 = /dev/null, every other one closed, and every signal at its default.
int csys_spawn(const char *_Nonnull path, char *_Nullable const *_Nonnull arguments,
               char *_Nullable const *_Nonnull environment, int control, int error, pid_t *_Nonnull pid);

/// Forks this program as `csys_spawn` would start it: with exactly this environment (the old one is overwritten, so that
/// neither memory nor /proc shows it), the same descriptors, and its own process group. The caller has one thread.
/// Returns 0 in the child, the child's pid in the parent, a negated errno on failure.
pid_t csys_fork_program(char *_Nullable const *_Nonnull environment, int control, int error);

/// fork(2), which Swift hides because it is unsafe with more than one thread. Returns 0 in the child, the child's pid
/// in the parent, a negated errno on failure.
pid_t csys_fork(void);
/// The number of threads of this process.
int csys_thread_count(void);

/// How a process ended and what it had used.
typedef struct {
    pid_t pid;
    /// Exit status, or -1 if a signal ended it.
    int exit_status;
    /// Signal number, or 0 if it exited.
    int signal;
    /// Whether the kernel wrote a core file.
    int dumped_core;
    uint64_t max_rss_bytes;
    uint64_t cpu_microseconds;
} csys_exit;

/// Reaps one child of this process that has ended. Returns 1, or 0 if none has.
int csys_reap_any(csys_exit *_Nonnull end);
/// Waits for one child of this process to end and reaps it. -ETIMEDOUT if it still runs after `timeout_ms`.
int csys_reap(pid_t pid, int timeout_ms, csys_exit *_Nonnull end);
/// Waits for one child of this process to end, without reaping it. 1 if it has ended, 0 if it still runs.
int csys_has_exited(pid_t pid, int timeout_ms);
/// SIGKILL to one process, or to a process group.
int csys_kill(pid_t pid);
int csys_kill_group(pid_t group);
/// Blocks SIGCHLD and returns a descriptor that becomes readable when a child ends.
int csys_child_signal_descriptor(void);

/// Prepares a process that is to fork analyzers: no core files, no new privileges, no descriptor above `last_open`;
/// signals meant for the service (TERM, INT, HUP) are ignored, since the control socket decides when it ends. Freed memory is
/// kept for the next block rather than given back.
int csys_prepare_parent(int last_open);
/// No core file of this process, neither written nor piped to a collector, and no backtrace, which shows registers and memory.
/// What it executes may be dumped by a collector and writes its own backtraces.
int csys_disable_core_dumps(void);
/// Readies the parent's memory for its forks, once all that they share is there: the heap has no holes, and comes with its next
/// 30 MB in pages of 2 MB where the kernel can, so that a fork shares what is there and gets what is new by one entry or one fault
/// instead of 512.
int csys_prepare_forks(void);
/// Limits a freshly forked analyzer, after `csys_prepare_forks`. It dies with `parent`, dumps no core, writes no file.
///
/// `address_space` bytes may be added to what the parent has mapped; `cpu_seconds` are the most that it may ever use.
int csys_prepare_child(pid_t parent, int error, uint64_t address_space, uint64_t cpu_seconds);
/// Allows this process `seconds` of CPU time from now, within the hard limit; SIGXCPU ends it when they are used.
int csys_renew_cpu_limit(uint64_t seconds);
void csys_exit_now(int status) __attribute__((noreturn));
/// "SIGSEGV" and so on.
const char *_Nullable csys_signal_name(int signal);
