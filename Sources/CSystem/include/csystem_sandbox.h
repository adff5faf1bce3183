// What an analyzer may not do.
#pragma once

/// Makes what all analyzers put on: once, in the parent, before the first fork.
int csys_prepare_sandbox(void);
/// Gives every capability up, for good (root's too): in the parent, once it has read its files. What it forks has none either.
int csys_drop_capabilities(void);
/// Landlock, if the kernel has it: from here on this process opens no file, binds and connects no port and signals nobody
/// outside. Beside the filter, so that a hole in one is none. After `csys_prepare_sandbox`, with no new privileges.
int csys_forbid_files(void);
/// Confines this process to the calls of the table in sandbox.c: those of a second table kill it, any other fails with EPERM.
/// After `csys_prepare_sandbox`, with no new privileges.
int csys_enter_sandbox(void);

/// The version of Landlock's interface that the kernel has, or a negated errno.
int csys_landlock_version(void);
/// 0 if the kernel can kill a process by a filter.
int csys_seccomp_available(void);
