#pragma once
#include <libpq-fe.h>
#include <poll.h>

static inline void cpg_ignore_notice(void *context, const char *message) { (void)context, (void)message; }

/// NOTICE and WARNING go nowhere: libpq would print them to standard error between the log's JSON lines.
static inline void cpg_silence_notices(PGconn *connection) { PQsetNoticeProcessor(connection, cpg_ignore_notice, 0); }
