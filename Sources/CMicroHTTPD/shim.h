#pragma once

// libmicrohttpd takes its options through a variadic function, which Swift cannot call.

#include <microhttpd.h>

/// Serves a listening socket on one thread of libmicrohttpd's own. The socket is the daemon's from here on.
static inline struct MHD_Daemon *_Nullable cmhd_start(int socket, MHD_AccessHandlerCallback _Nonnull handler,
                                                      void *_Nonnull context, unsigned int connections,
                                                      unsigned int idle_seconds, size_t connection_memory) {
    return MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, handler, context, MHD_OPTION_LISTEN_SOCKET, socket,
                            MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory, MHD_OPTION_END);
}

/// A response with a copy of the bytes. libmicrohttpd does not declare them const, but only reads them.
static inline struct MHD_Response *_Nullable cmhd_response(const void *_Nullable bytes, size_t count) {
    return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}
