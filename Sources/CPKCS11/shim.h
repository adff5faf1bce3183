#pragma once

// The names of the specification in lower case, without the aliases of its own header.
#define CRYPTOKI_GNU 1
#include <dlfcn.h>
#include <p11-kit-1/p11-kit/pkcs11.h>
#include <stddef.h>

/// Loads a module and asks it for its functions. Null if the file is no module.
static inline struct ck_function_list *_Nullable cpkcs11_load(const char *_Nonnull path) {
    // Never closed: modules leave threads and handlers behind.
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CK_C_GetFunctionList functions = library ? (CK_C_GetFunctionList)dlsym(library, "C_GetFunctionList") : NULL;
    struct ck_function_list *list = NULL;
    return functions && functions(&list) == CKR_OK ? list : NULL;
}
