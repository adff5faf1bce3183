// A PDF's objects by libqpdf's C interface, which lets no exception out.
//
// libqpdf runs where images are decoded, in the confined analyzer: it parses strangers' bytes, and its own inflating of object
// streams knows no limit but the process's memory. It is loaded at the first use, in the analyzers' parent, because it brings
// GnuTLS with it.
#pragma once
#include <qpdf/qpdf-c.h>

#include <string>
#include <vector>

#include "image_codecs.hpp"

namespace cvision::pdf {

/// Loads the library. Throws if it is not installed.
void load_library();

/// What reading the file or one of its objects ran into.
struct Damaged {};
/// A password is needed, or would be to change the file.
struct Encrypted {};

class Document;

/// An object of the file; one that does not exist is null.
struct Object {
    Document *document;
    qpdf_oh handle;

    /// The value of a dictionary's key, also of a stream's dictionary; null of anything else.
    Object operator[](const char *key) const;
    /// An element of an array; of anything else the object itself, since one may stand for an array of one.
    Object operator[](int index) const;
    /// Elements of an array; 0 of null, 1 of anything else.
    int count() const;
    bool null() const;
    bool array() const;
    bool stream() const;
    bool is(const char *wanted) const { return name() == wanted; }
    /// With its slash; empty of what is no name.
    std::string name() const;
    long long number(long long otherwise) const;
    double real() const;
    bool truth() const;
    /// The bytes of a string.
    std::vector<uint8_t> string() const;
    /// A string as UTF-8, without zeros.
    std::string text() const;
    /// The bytes of a stream as they are in the file.
    std::vector<uint8_t> raw() const;
};

class Document {
public:
    /// Like all functions that read its objects, throws Damaged, Encrypted or std::bad_alloc.
    explicit Document(Source source);
    ~Document();
    Document(const Document &) = delete;
    Document &operator=(const Document &) = delete;

    int pages();
    /// The first page with what it inherits.
    Object first_page();
    Object trailer();

private:
    friend struct Object;
    qpdf_data file = nullptr;

    void check();
    Object object(qpdf_oh handle);
};

}  // namespace cvision::pdf
