// The system calls that an analyzer may make.
#pragma once

/// Confines this process and all it becomes to the calls of the table in sandbox.c; any other fails with EPERM.
int csys_enter_sandbox(void);
