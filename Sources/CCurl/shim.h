#pragma once

// libcurl sets and reads options through variadic functions, which Swift cannot call: one inline function per type.

#include <curl/curl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static inline CURLcode ccurl_set_long(CURL *_Nonnull easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_offset(CURL *_Nonnull easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_string(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *_Nonnull easy, CURLoption option, const void *_Nullable value) {
    return curl_easy_setopt(easy, option, value);
}

/// For the write and the header callback, which have the same type.
static inline CURLcode ccurl_set_receiver(CURL *_Nonnull easy, CURLoption option,
                                          curl_write_callback _Nonnull callback) {
    return curl_easy_setopt(easy, option, callback);
}

static inline CURLcode ccurl_set_opensocket(CURL *_Nonnull easy, curl_opensocket_callback _Nonnull callback) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}

static inline CURLcode ccurl_set_closesocket(CURL *_Nonnull easy, curl_closesocket_callback _Nonnull callback) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callback);
}

static inline CURLcode ccurl_set_prerequest(CURL *_Nonnull easy, curl_prereq_callback _Nonnull callback) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

static inline CURLcode ccurl_get_long(CURL *_Nonnull easy, CURLINFO info, long *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *_Nonnull easy, CURLINFO info, curl_off_t *_Nonnull value) {
    return curl_easy_getinfo(easy, info, value);
}

/// PEM bytes, which libcurl copies.
static inline CURLcode ccurl_set_blob(CURL *_Nonnull easy, CURLoption option, const void *_Nonnull bytes,
                                      size_t count) {
    struct curl_blob blob = {.data = (void *)bytes, .len = count, .flags = CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

static inline CURLMcode ccurl_multi_set_socket(CURLM *_Nonnull multi, curl_socket_callback _Nonnull callback,
                                               void *_Nonnull context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
    return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline CURLMcode ccurl_multi_set_timer(CURLM *_Nonnull multi, curl_multi_timer_callback _Nonnull callback,
                                              void *_Nonnull context) {
    CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
    return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// Binds a socket to an address of 4 or 16 bytes in network order, and to no port.
static inline int ccurl_bind(int descriptor, const uint8_t *_Nullable bytes, size_t count) {
    if (bytes != NULL && count == 4) {
        struct sockaddr_in address = {.sin_family = AF_INET};
        memcpy(&address.sin_addr, bytes, 4);
        return bind(descriptor, (const struct sockaddr *)&address, sizeof address);
    }
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    if (bytes == NULL || count != 16) return -1;
    memcpy(&address.sin6_addr, bytes, 16);
    return bind(descriptor, (const struct sockaddr *)&address, sizeof address);
}

/// Copies the address's bytes in network order: 4 for IPv4, 16 for IPv6; 0 for any other family.
/// `struct curl_sockaddr` declares a `struct sockaddr`, but longer addresses continue behind it.
static inline int ccurl_address_bytes(const struct curl_sockaddr *_Nonnull address, uint8_t *_Nonnull bytes) {
    const unsigned char *raw = (const unsigned char *)&address->addr;
    if (address->family == AF_INET && address->addrlen >= sizeof(struct sockaddr_in)) {
        memcpy(bytes, raw + offsetof(struct sockaddr_in, sin_addr), 4);
        return 4;
    }
    if (address->family == AF_INET6 && address->addrlen >= sizeof(struct sockaddr_in6)) {
        memcpy(bytes, raw + offsetof(struct sockaddr_in6, sin6_addr), 16);
        return 16;
    }
    return 0;
}
