// Libraries that are loaded where they are used first. Every start of the program loads what it is linked with, which for
// Tesseract and OpenCV's networks takes longer than judging an image.
#pragma once

namespace cvision {

/// A shared library that stays loaded. Whoever forks analyzers makes it before: they can open no file.
class LateLibrary {
public:
    /// Throws std::runtime_error, also where the library is not installed.
    explicit LateLibrary(const char *name);

    /// What the library calls `name`. Throws std::runtime_error where it has no such thing.
    template <typename Function>
    Function function(const char *name) const {
        return reinterpret_cast<Function>(this->symbol(name));
    }

private:
    void *handle;

    void *symbol(const char *name) const;
};

}  // namespace cvision
