#include "pdf_file.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "late_library.hpp"

namespace cvision::pdf {
namespace {

struct Library {
    const LateLibrary library{"libqpdf.so.29"};
#define FUNCTION(name) decltype(&::name) name = library.function<decltype(&::name)>(#name)
    FUNCTION(qpdf_init);
    FUNCTION(qpdf_cleanup);
    FUNCTION(qpdf_silence_errors);
    FUNCTION(qpdf_set_suppress_warnings);
    FUNCTION(qpdf_set_attempt_recovery);
    FUNCTION(qpdf_read_memory);
    FUNCTION(qpdf_has_error);
    FUNCTION(qpdf_get_error);
    FUNCTION(qpdf_get_error_code);
    FUNCTION(qpdf_get_error_full_text);
    FUNCTION(qpdf_is_encrypted);
    FUNCTION(qpdf_get_num_pages);
    FUNCTION(qpdf_get_page_n);
    FUNCTION(qpdf_get_trailer);
    FUNCTION(qpdf_push_inherited_attributes_to_page);
    FUNCTION(qpdf_oh_new_null);
    FUNCTION(qpdf_oh_get_key);
    FUNCTION(qpdf_oh_get_dict);
    FUNCTION(qpdf_oh_is_array);
    FUNCTION(qpdf_oh_is_bool);
    FUNCTION(qpdf_oh_is_dictionary);
    FUNCTION(qpdf_oh_is_integer);
    FUNCTION(qpdf_oh_is_name);
    FUNCTION(qpdf_oh_is_null);
    FUNCTION(qpdf_oh_is_number);
    FUNCTION(qpdf_oh_is_stream);
    FUNCTION(qpdf_oh_is_string);
    FUNCTION(qpdf_oh_get_bool_value);
    FUNCTION(qpdf_oh_get_int_value);
    FUNCTION(qpdf_oh_get_name);
    FUNCTION(qpdf_oh_get_numeric_value);
    FUNCTION(qpdf_oh_get_binary_string_value);
    FUNCTION(qpdf_oh_get_utf8_value);
    FUNCTION(qpdf_oh_get_array_n_items);
    FUNCTION(qpdf_oh_get_array_item);
    FUNCTION(qpdf_oh_get_stream_data);
#undef FUNCTION
};

const Library &calls() {
    static const Library loaded;
    return loaded;
}

}  // namespace

void load_library() { (void)calls(); }

Document::Document(Source source) : file(calls().qpdf_init()) {
    if (file == nullptr) throw std::bad_alloc();
    try {
        calls().qpdf_silence_errors(file);
        calls().qpdf_set_suppress_warnings(file, QPDF_TRUE);
        // Rebuilding a damaged file reads it again and again.
        calls().qpdf_set_attempt_recovery(file, QPDF_FALSE);
        calls().qpdf_read_memory(file, "part", reinterpret_cast<const char *>(source.bytes), source.length, nullptr);
        check();
        if (calls().qpdf_is_encrypted(file)) throw Encrypted();
    } catch (...) {
        calls().qpdf_cleanup(&file);
        throw;
    }
}

Document::~Document() { calls().qpdf_cleanup(&file); }

void Document::check() {
    if (!calls().qpdf_has_error(file)) return;
    const qpdf_error error = calls().qpdf_get_error(file);
    if (calls().qpdf_get_error_code(file, error) == qpdf_e_password) throw Encrypted();
    const char *text = calls().qpdf_get_error_full_text(file, error);
    if (text != nullptr && std::strstr(text, "bad_alloc") != nullptr) throw std::bad_alloc();
    throw Damaged();
}

Object Document::object(qpdf_oh handle) {
    check();
    return {this, handle};
}

int Document::pages() {
    const int count = calls().qpdf_get_num_pages(file);
    check();
    return count;
}

Object Document::first_page() {
    calls().qpdf_push_inherited_attributes_to_page(file);
    check();
    return object(calls().qpdf_get_page_n(file, 0));
}

Object Document::trailer() { return object(calls().qpdf_get_trailer(file)); }

Object Object::operator[](const char *key) const {
    const qpdf_data file = document->file;
    const qpdf_oh dictionary = stream() ? calls().qpdf_oh_get_dict(file, handle) : handle;
    if (!calls().qpdf_oh_is_dictionary(file, dictionary)) return document->object(calls().qpdf_oh_new_null(file));
    return document->object(calls().qpdf_oh_get_key(file, dictionary, key));
}

Object Object::operator[](int index) const {
    if (!array()) return *this;
    if (index < 0 || index >= count()) return document->object(calls().qpdf_oh_new_null(document->file));
    return document->object(calls().qpdf_oh_get_array_item(document->file, handle, index));
}

int Object::count() const {
    if (null()) return 0;
    return array() ? calls().qpdf_oh_get_array_n_items(document->file, handle) : 1;
}

bool Object::null() const { return calls().qpdf_oh_is_null(document->file, handle) != 0; }
bool Object::array() const { return calls().qpdf_oh_is_array(document->file, handle) != 0; }
bool Object::stream() const { return calls().qpdf_oh_is_stream(document->file, handle) != 0; }

std::string Object::name() const {
    if (!calls().qpdf_oh_is_name(document->file, handle)) return {};
    return calls().qpdf_oh_get_name(document->file, handle);
}

long long Object::number(long long otherwise) const {
    if (!calls().qpdf_oh_is_integer(document->file, handle)) return otherwise;
    return calls().qpdf_oh_get_int_value(document->file, handle);
}

double Object::real() const {
    if (!calls().qpdf_oh_is_number(document->file, handle)) return 0;
    return calls().qpdf_oh_get_numeric_value(document->file, handle);
}

bool Object::truth() const {
    return calls().qpdf_oh_is_bool(document->file, handle) != 0 &&
           calls().qpdf_oh_get_bool_value(document->file, handle) != 0;
}

std::vector<uint8_t> Object::string() const {
    if (!calls().qpdf_oh_is_string(document->file, handle)) return {};
    size_t length = 0;
    const char *text = calls().qpdf_oh_get_binary_string_value(document->file, handle, &length);
    return {text, text + length};
}

std::string Object::text() const {
    if (!calls().qpdf_oh_is_string(document->file, handle)) return {};
    return calls().qpdf_oh_get_utf8_value(document->file, handle);
}

std::vector<uint8_t> Object::raw() const {
    if (!stream()) return {};
    unsigned char *bytes = nullptr;
    size_t length = 0;
    calls().qpdf_oh_get_stream_data(document->file, handle, qpdf_dl_none, nullptr, &bytes, &length);
    const std::unique_ptr<unsigned char, decltype(&std::free)> owned(bytes, std::free);
    document->check();
    return bytes == nullptr ? std::vector<uint8_t>() : std::vector<uint8_t>(bytes, bytes + length);
}

}  // namespace cvision::pdf
