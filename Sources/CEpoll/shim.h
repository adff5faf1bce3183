#pragma once

// What a server on one thread needs of Linux and Swift's Glibc module does not have.

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

static const uint32_t cepoll_in = EPOLLIN;
static const uint32_t cepoll_out = EPOLLOUT;
/// The peer sends nothing more.
static const uint32_t cepoll_left = EPOLLRDHUP;

static inline int cepoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

/// Adds a descriptor, or changes what it is watched for. `events` 0 still reports that the connection is gone.
static inline int cepoll_add(int set, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event);
}
static inline int cepoll_change(int set, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event = {.events = events, .data = {.u64 = token}};
    return epoll_ctl(set, EPOLL_CTL_MOD, descriptor, &event);
}
static inline int cepoll_remove(int set, int descriptor) { return epoll_ctl(set, EPOLL_CTL_DEL, descriptor, 0); }

/// A counter that wakes the loop.
static inline int cepoll_bell(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/// A stream socket that does not block and that no child process inherits.
static inline int cepoll_socket(int family) { return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

/// Accepts a connection that does not block and that no child process inherits.
static inline int cepoll_accept(int socket, struct sockaddr_storage *_Nonnull peer) {
    socklen_t length = sizeof *peer;
    return accept4(socket, (struct sockaddr *)peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
}
