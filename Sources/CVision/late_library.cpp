#include "late_library.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace cvision {

LateLibrary::LateLibrary(const char *name) : handle(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (this->handle == nullptr) throw std::runtime_error(std::string("a library is missing: ") + dlerror());
}

void *LateLibrary::symbol(const char *name) const {
    void *const found = dlsym(this->handle, name);
    if (found == nullptr) throw std::runtime_error(std::string("a library has another version: ") + dlerror());
    return found;
}

}  // namespace cvision
