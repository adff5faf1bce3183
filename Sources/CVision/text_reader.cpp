// Reads a line of text: Tesseract's line recogniser over one cropped line at a time. Its own page analysis is not used: it
// takes longer than the reading and is made for books.
#include <tesseract/capi.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <opencv2/imgproc.hpp>
#include <string>
#include <vector>

#include "face_models.hpp"
#include "image.hpp"
#include "late_library.hpp"
#include "text_page.hpp"

namespace {

/// The part of Tesseract's C interface that is used.
struct Tesseract {
    const cvision::LateLibrary library{"libtesseract.so.5"};
#define FUNCTION(name) decltype(&::name) name = library.function<decltype(&::name)>(#name)
    FUNCTION(TessBaseAPICreate);
    FUNCTION(TessBaseAPIDelete);
    FUNCTION(TessBaseAPIInit5);
    FUNCTION(TessBaseAPISetPageSegMode);
    FUNCTION(TessBaseAPISetVariable);
    FUNCTION(TessBaseAPISetImage);
    FUNCTION(TessBaseAPISetSourceResolution);
    FUNCTION(TessBaseAPIRecognize);
    FUNCTION(TessBaseAPIGetIterator);
    FUNCTION(TessBaseAPIClear);
    FUNCTION(TessResultIteratorDelete);
    FUNCTION(TessResultIteratorGetPageIteratorConst);
    FUNCTION(TessResultIteratorGetUTF8Text);
    FUNCTION(TessResultIteratorConfidence);
    FUNCTION(TessResultIteratorNext);
    FUNCTION(TessPageIteratorIsAtBeginningOf);
    FUNCTION(TessDeleteText);
#undef FUNCTION
};

/// Loads the library at the first call. Throws if that fails.
const Tesseract &functions() {
    static const Tesseract loaded;
    return loaded;
}

struct Delete {
    void operator()(TessBaseAPI *api) const { functions().TessBaseAPIDelete(api); }
    void operator()(TessResultIterator *results) const { functions().TessResultIteratorDelete(results); }
    void operator()(char *text) const { functions().TessDeleteText(text); }
};

}  // namespace

struct cv_text_engine {
    std::unique_ptr<TessBaseAPI, Delete> api;
    std::string sha256;
};

namespace {

constexpr const char *language = "eng";
constexpr int line_height = 36;  // px: the network's input height; Tesseract scales every line to it

/// First code point of a UTF-8 sequence and its length; damaged bytes become U+FFFD.
uint32_t code_point(const char *text, size_t &length) {
    const auto *p = reinterpret_cast<const unsigned char *>(text);
    const int more = p[0] < 0x80 ? 0 : p[0] >= 0xF0 ? 3 : p[0] >= 0xE0 ? 2 : p[0] >= 0xC0 ? 1 : -1;
    length = 1;
    if (more < 0) return 0xFFFD;
    uint32_t value = more == 0 ? p[0] : p[0] & (0x3F >> more);
    for (int i = 1; i <= more; ++i) {
        if ((p[i] & 0xC0) != 0x80) return 0xFFFD;
        value = value << 6 | (p[i] & 0x3F);
        ++length;
    }
    return value;
}

/// Reads the rectangle `wanted` of `gray`; nothing where they do not overlap.
void read_box(cv_text_engine &engine, const cv::Mat &gray, const cv::Rect2d &wanted, cv_text_reading &reading) {
    const cv::Rect box = cv::Rect(cv::Point(cvFloor(wanted.x), cvFloor(wanted.y)),
                                  cv::Point(cvCeil(wanted.br().x), cvCeil(wanted.br().y))) &
                         cv::Rect(0, 0, gray.cols, gray.rows);
    if (box.empty()) return;
    const double scale = static_cast<double>(line_height) / box.height;
    const cv::Size size(std::max(8, cvRound(box.width * scale)), line_height);
    cv::Mat crop;
    if (scale < 1) crop = cvision::averaged(gray(box), size);
    else cv::resize(gray(box), crop, size, 0, 0, cv::INTER_CUBIC);
    const Tesseract &calls = functions();
    TessBaseAPI *const api = engine.api.get();
    calls.TessBaseAPISetImage(api, crop.data, crop.cols, crop.rows, 1, static_cast<int>(crop.step));
    calls.TessBaseAPISetSourceResolution(api, 300);
    if (calls.TessBaseAPIRecognize(api, nullptr) == 0) {
        const std::unique_ptr<TessResultIterator, Delete> results(calls.TessBaseAPIGetIterator(api));
        bool begin = true;
        if (results != nullptr) {
            const TessPageIterator *const place = calls.TessResultIteratorGetPageIteratorConst(results.get());
            do {
                // None where nothing was read.
                const std::unique_ptr<char, Delete> text(
                    calls.TessResultIteratorGetUTF8Text(results.get(), tesseract::RIL_SYMBOL));
                if (text == nullptr) continue;
                const float confidence = std::clamp(
                    calls.TessResultIteratorConfidence(results.get(), tesseract::RIL_SYMBOL) / 100, 0.f, 1.f);
                const auto add = [&](uint32_t character) {
                    if (reading.count >= CV_TEXT_MAX_CHARACTERS) return;
                    reading.characters[reading.count] = character;
                    reading.confidences[reading.count++] = confidence;
                };
                if (!begin && calls.TessPageIteratorIsAtBeginningOf(place, tesseract::RIL_WORD)) add(' ');
                begin = false;
                for (const char *at = text.get(); *at != 0;) {
                    size_t length = 0;
                    add(code_point(at, length));
                    at += length;
                }
            } while (calls.TessResultIteratorNext(results.get(), tesseract::RIL_SYMBOL));
        }
    }
    // Otherwise the page's data would be kept until the next one.
    calls.TessBaseAPIClear(api);
}

}  // namespace

extern "C" cv_status cv_text_engine_create(const char *folder, cv_text_engine **engine, cv_error *error) {
    using namespace cvision;
    *engine = nullptr;
    return guard(error, [&] {
        std::ifstream file(std::string(folder) + "/" + language + ".traineddata", std::ios::binary);
        const std::vector<char> model((std::istreambuf_iterator<char>(file)), {});
        if (model.empty()) return fail(error, CV_MODEL_UNAVAILABLE, "eng.traineddata is missing or not readable");
        const Tesseract &calls = functions();
        auto made = std::make_unique<cv_text_engine>();
        made->api.reset(calls.TessBaseAPICreate());
        made->sha256 = sha256_hex(model);
        // No dictionary: names and numbers are not words of a language, and a reader that prefers words would invent some.
        std::vector<std::string> names{"load_system_dawg", "load_freq_dawg",    "load_punc_dawg",
                                       "load_number_dawg", "load_unambig_dawg", "load_bigram_dawg"};
        std::string none = "0";
        std::vector<char *> variables, values(names.size(), none.data());
        for (std::string &name : names) variables.push_back(name.data());
        TessBaseAPI *const api = made->api.get();
        if (calls.TessBaseAPIInit5(api, model.data(), static_cast<int>(model.size()), language,
                                   tesseract::OEM_LSTM_ONLY, nullptr, 0, variables.data(), values.data(), names.size(),
                                   false) != 0)
            return fail(error, CV_MODEL_UNAVAILABLE, "eng.traineddata is damaged");
        calls.TessBaseAPISetPageSegMode(api, tesseract::PSM_RAW_LINE);
        // Light text on dark paper is not sought: trying it would double the time for everything that is hard to read.
        calls.TessBaseAPISetVariable(api, "tessedit_do_invert", "0");
        calls.TessBaseAPISetVariable(api, "invert_threshold", "0");
        *engine = made.release();
        return CV_OK;
    });
}

extern "C" void cv_text_engine_free(cv_text_engine *engine) { delete engine; }

extern "C" const char *cv_text_engine_model_sha256(const cv_text_engine *engine) { return engine->sha256.c_str(); }

extern "C" cv_status cv_text_read(cv_text_engine *engine, const cv_text_page *page, int32_t index, bool again,
                                  cv_text_reading *reading, cv_error *error) {
    reading->count = 0;
    return cvision::guard(error, [&] {
        const cv_text_line &line = page->lines.at(static_cast<size_t>(index));
        // Room for accents above and tails below.
        const double margin = (again ? 0.55 : 0.3) * line.character_height;
        read_box(*engine, page->gray,
                 {line.x - margin, line.y - margin, line.width + 2 * margin, line.height + 2 * margin}, *reading);
        return CV_OK;
    });
}

extern "C" cv_status cv_text_read_box(cv_text_engine *engine, const cv_text_page *page, double x, double y,
                                      double width, double height, cv_text_reading *reading, cv_error *error) {
    reading->count = 0;
    return cvision::guard(error, [&] {
        read_box(*engine, page->gray, {x, y, width, height}, *reading);
        return CV_OK;
    });
}
