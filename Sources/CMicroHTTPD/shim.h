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

/// What a ``cmhd_serve`` server is told beside its callbacks.
struct cmhd_limits {
    unsigned int connections;
    unsigned int connections_per_address;
    unsigned int idle_seconds;
    size_t connection_memory;
};

/// Serves a listening socket on one thread of libmicrohttpd's own; connections can be suspended and resumed. With a
/// certificate and a key (PEM) it speaks TLS 1.2 and 1.3; both must stay as they are until the daemon is stopped.
static inline struct MHD_Daemon *_Nullable cmhd_serve(int socket, MHD_AccessHandlerCallback _Nonnull handler,
                                                      MHD_RequestCompletedCallback _Nonnull completed,
                                                      MHD_NotifyConnectionCallback _Nonnull connected,
                                                      void *_Nonnull context, struct cmhd_limits limits,
                                                      const char *_Nullable certificate, const char *_Nullable key) {
    unsigned int flags = MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    if (certificate && key) flags |= MHD_USE_TLS;
    return MHD_start_daemon(flags, 0, NULL, NULL, handler, context, MHD_OPTION_LISTEN_SOCKET, socket,
                            MHD_OPTION_CONNECTION_LIMIT, limits.connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                            limits.connections_per_address, MHD_OPTION_CONNECTION_TIMEOUT, limits.idle_seconds,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.connection_memory, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                            MHD_OPTION_NOTIFY_COMPLETED, completed, context, MHD_OPTION_NOTIFY_CONNECTION, connected, context,
                            MHD_OPTION_ARRAY, certificate && key ? tls : none, MHD_OPTION_END);
}

/// The descriptor of a connection, and the address of its peer.
static inline int cmhd_descriptor(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}
static inline const struct sockaddr *_Nullable cmhd_peer(struct MHD_Connection *_Nonnull connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

/// Whether a connection has just been opened; otherwise it is about to be closed.
static inline int cmhd_is_start(enum MHD_ConnectionNotificationCode what) { return what == MHD_CONNECTION_NOTIFY_STARTED; }
