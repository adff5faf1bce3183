#define _GNU_SOURCE
#include "CSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int csys_memfd_create(const char *name, uint64_t size) {
    int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -errno;
    // The whole size at once costs nothing: pages exist only where they were touched.
    if (ftruncate(descriptor, (off_t)size) != 0 ||
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    return descriptor;
}

int csys_reopen_read_only(int descriptor) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int copy = open(path, O_RDONLY | O_CLOEXEC);
    return copy < 0 ? -errno : copy;
}

int csys_map(int descriptor, size_t size, const void **address) {
    void *mapped = mmap(NULL, size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapped == MAP_FAILED) return -errno;
    madvise(mapped, size, MADV_DONTDUMP);
    *address = mapped;
    return 0;
}

int csys_write_at(int descriptor, const void *bytes, size_t count, uint64_t offset) {
    const char *next = bytes;
    while (count > 0) {
        ssize_t written = pwrite(descriptor, next, count, (off_t)offset);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return written < 0 ? -errno : -ENOSPC;
        next += written;
        offset += (size_t)written;
        count -= (size_t)written;
    }
    return 0;
}

int csys_socket_pair(int packets, int *first, int *second) {
    int pair[2];
    if (socketpair(AF_UNIX, (packets ? SOCK_SEQPACKET : SOCK_STREAM) | SOCK_CLOEXEC, 0, pair) != 0) return -errno;
    *first = pair[0];
    *second = pair[1];
    return 0;
}

void csys_close_for_writing(int socket) { shutdown(socket, SHUT_WR); }

int csys_is_socket(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

int csys_pipe_nonblocking(int *reader, int *writer) {
    int pair[2];
    if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) != 0) return -errno;
    *reader = pair[0];
    *writer = pair[1];
    return 0;
}

int csys_send_message(int socket, const void *bytes, size_t count, const int *descriptors, size_t descriptor_count) {
    if (descriptor_count > CSYS_MAX_DESCRIPTORS) return -EINVAL;
    struct iovec vector = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * CSYS_MAX_DESCRIPTORS)];
    if (descriptor_count > 0) {
        memset(control, 0, sizeof control);
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptor_count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * descriptor_count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * descriptor_count);
    }
    ssize_t sent;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

long csys_receive_message(int socket, void *bytes, size_t capacity, int *descriptors, size_t *descriptor_count) {
    *descriptor_count = 0;
    struct iovec vector = {.iov_base = bytes, .iov_len = capacity};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * CSYS_MAX_DESCRIPTORS)];
    struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t received;
    do received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (received < 0 && errno == EINTR);
    if (received < 0) return -errno;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header != NULL; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t index = 0; index < count; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + index * sizeof(int), sizeof(int));
            if (*descriptor_count < CSYS_MAX_DESCRIPTORS) descriptors[(*descriptor_count)++] = descriptor;
            else close(descriptor);
        }
    }
    if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
        for (size_t index = 0; index < *descriptor_count; index++) close(descriptors[index]);
        *descriptor_count = 0;
        return -EMSGSIZE;
    }
    return received;
}

uint64_t csys_now_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/// Waits until the socket is ready for `events`; 0, -ETIMEDOUT, or another negated errno.
static int await_socket(int socket, short events, uint64_t deadline_nanoseconds) {
    for (;;) {
        int timeout_ms = -1;
        if (deadline_nanoseconds != 0) {
            uint64_t now = csys_now_nanoseconds();
            if (now >= deadline_nanoseconds) return -ETIMEDOUT;
            uint64_t left_ms = (deadline_nanoseconds - now) / 1000000u + 1;
            timeout_ms = left_ms > 86400000u ? 86400000 : (int)left_ms;
        }
        struct pollfd entry = {.fd = socket, .events = events};
        int ready = poll(&entry, 1, timeout_ms);
        if (ready > 0) return 0;
        if (ready < 0 && errno != EINTR) return -errno;
    }
}

int csys_send_exactly(int socket, const void *bytes, size_t count, uint64_t deadline_nanoseconds) {
    const char *next = bytes;
    while (count > 0) {
        ssize_t sent = send(socket, next, count, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            next += sent;
            count -= (size_t)sent;
        } else if (errno == EAGAIN) {
            int failure = await_socket(socket, POLLOUT, deadline_nanoseconds);
            if (failure != 0) return failure;
        } else if (errno == EPIPE) {
            return -ECONNRESET;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

int csys_receive_exactly(int socket, void *bytes, size_t count, uint64_t deadline_nanoseconds) {
    char *next = bytes;
    while (count > 0) {
        // Waiting first keeps the deadline also against a peer that feeds one byte at a time.
        int failure = await_socket(socket, POLLIN, deadline_nanoseconds);
        if (failure != 0) return failure;
        ssize_t received = recv(socket, next, count, MSG_DONTWAIT);
        if (received > 0) {
            next += received;
            count -= (size_t)received;
        } else if (received == 0) {
            return -ECONNRESET;
        } else if (errno != EINTR && errno != EAGAIN) {
            return -errno;
        }
    }
    return 0;
}

int csys_has_input(int socket) {
    struct pollfd entry = {.fd = socket, .events = POLLIN};
    return poll(&entry, 1, 0) != 0;
}

int csys_wait_input(int first, int second, int timeout_ms) {
    struct pollfd entries[2] = {{.fd = first, .events = POLLIN}, {.fd = second, .events = POLLIN}};
    int ready = poll(entries, 2, timeout_ms);
    if (ready < 0) return errno == EINTR ? 0 : -errno;
    return (entries[0].revents != 0 ? 1 : 0) | (entries[1].revents != 0 ? 2 : 0);
}

long csys_read_available(int descriptor, void *bytes, size_t capacity) {
    ssize_t count;
    do count = read(descriptor, bytes, capacity);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}
