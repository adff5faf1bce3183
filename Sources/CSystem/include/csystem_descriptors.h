// Shared memory, sockets and pipes.
#pragma once
#include <stddef.h>
#include <stdint.h>

/// The most descriptors that one message carries.
#define CSYS_MAX_DESCRIPTORS 4

/// Returns an anonymous memory file of a fixed, sealed size: neither end can shrink it under the other's mapping.
int csys_memfd_create(const char *_Nonnull name, uint64_t size);
/// Opens the same file again, for reading only.
int csys_reopen_read_only(int descriptor);
/// Maps `size` bytes of a memory file for reading; stores the address.
int csys_map(int descriptor, size_t size, const void *_Nullable *_Nonnull address);
/// Writes all of `bytes` at an offset. If memory is short, it fails; writing to a mapping would end the process.
int csys_write_at(int descriptor, const void *_Nonnull bytes, size_t count, uint64_t offset);

/// A connected pair of unix sockets. `packets`: message boundaries are kept (SOCK_SEQPACKET), else a byte stream.
int csys_socket_pair(int packets, int *_Nonnull first, int *_Nonnull second);
/// Ends the stream for the other side; what it sends still arrives.
void csys_close_for_writing(int socket);
int csys_is_socket(int descriptor);
/// A pipe whose writer never blocks: what does not fit is lost.
int csys_pipe_nonblocking(int *_Nonnull reader, int *_Nonnull writer);

/// Sends one message with descriptors, without blocking.
int csys_send_message(int socket, const void *_Nonnull bytes, size_t count, const int *_Nullable descriptors,
                      size_t descriptor_count);
/// Receives one message, blocking. Returns its length; 0 is the end of the stream.
long csys_receive_message(int socket, void *_Nonnull bytes, size_t capacity, int *_Nonnull descriptors,
                          size_t *_Nonnull descriptor_count);

/// CLOCK_MONOTONIC.
uint64_t csys_now_nanoseconds(void);
/// Sends or receives exactly `count` bytes on a stream. `deadline_nanoseconds` is on csys_now_nanoseconds()'s clock, 0 for none.
/// -ETIMEDOUT when it passes, -ECONNRESET when the other end is gone.
int csys_send_exactly(int socket, const void *_Nonnull bytes, size_t count, uint64_t deadline_nanoseconds);
int csys_receive_exactly(int socket, void *_Nonnull bytes, size_t count, uint64_t deadline_nanoseconds);
/// Whether a byte waits to be received. A stream that ended counts as one.
int csys_has_input(int socket);

/// Waits for input on either of two descriptors (-1: none). Returns a bit mask: 1 the first, 2 the second.
int csys_wait_input(int first, int second, int timeout_ms);
/// Reads what is there, without blocking. Returns the count, 0 at the end, -EAGAIN when nothing waits.
long csys_read_available(int descriptor, void *_Nonnull bytes, size_t capacity);
