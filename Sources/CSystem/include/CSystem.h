// The system calls behind the analyzer processes that Swift cannot express: variadics, fork, ancillary data, seccomp.
// Functions return 0 (or a count, a descriptor) on success and a negated errno on failure unless they say otherwise.
// Every descriptor they make is close-on-exec.
#pragma once
#include "csystem_descriptors.h"
#include "csystem_process.h"
#include "csystem_sandbox.h"
