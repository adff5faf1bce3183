// Libraries loaded on first use. Linked libraries are loaded at every start of the program; for OpenCV's networks that
// takes longer than analysing an image.
#pragma once

namespace cvision {

/// A shared library that stays loaded. Create it before analyzers are forked: they can open no file.
class LateLibrary {
public:
    /// Throws std::runtime_error, also if the library is not installed.
    explicit LateLibrary(const char *name);

    /// The library's symbol `name`. Throws std::runtime_error where there is none.
    template <typename Function>
    Function function(const char *name) const {
        return reinterpret_cast<Function>(this->symbol(name));
    }

private:
    void *handle;

    void *symbol(const char *name) const;
};

}  // namespace cvision
