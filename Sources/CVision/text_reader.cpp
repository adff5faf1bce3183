// What a line of print says: Tesseract's line recogniser over one cropped line at a time. Its own page analysis is not
// used: it takes longer than the reading and is made for books.
#include <tesseract/baseapi.h>
#include <tesseract/resultiterator.h>

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
#include "text_page.hpp"

struct cv_text_engine {
    tesseract::TessBaseAPI api;
    std::string sha256;
};

namespace {

constexpr const char *language = "eng";
constexpr int line_height = 36;  // px: the height that the network sees; Tesseract scales every line to it

/// First code point of a UTF-8 sequence and its length; damaged bytes come back as U+FFFD.
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

/// Reads what `wanted` shows of `gray`; nothing where they do not meet.
void read_box(cv_text_engine &engine, const cv::Mat &gray, const cv::Rect2d &wanted, cv_text_reading &reading) {
    const cv::Rect box = cv::Rect(cv::Point(cvFloor(wanted.x), cvFloor(wanted.y)),
                                  cv::Point(cvCeil(wanted.br().x), cvCeil(wanted.br().y))) &
                         cv::Rect(0, 0, gray.cols, gray.rows);
    if (box.empty()) return;
    const double scale = static_cast<double>(line_height) / box.height;
    cv::Mat crop;
    cv::resize(gray(box), crop, {std::max(8, cvRound(box.width * scale)), line_height}, 0, 0,
               scale < 1 ? cv::INTER_AREA : cv::INTER_CUBIC);
    engine.api.SetImage(crop.data, crop.cols, crop.rows, 1, static_cast<int>(crop.step));
    engine.api.SetSourceResolution(300);
    if (engine.api.Recognize(nullptr) == 0) {
        const std::unique_ptr<tesseract::ResultIterator> results(engine.api.GetIterator());
        bool begin = true;
        if (results != nullptr && !results->Empty(tesseract::RIL_SYMBOL)) {
            do {
                const std::unique_ptr<const char[]> text(results->GetUTF8Text(tesseract::RIL_SYMBOL));
                if (text == nullptr) continue;
                const float confidence = std::clamp(results->Confidence(tesseract::RIL_SYMBOL) / 100, 0.f, 1.f);
                const auto add = [&](uint32_t character) {
                    if (reading.count >= CV_TEXT_MAX_CHARACTERS) return;
                    reading.characters[reading.count] = character;
                    reading.confidences[reading.count++] = confidence;
                };
                if (!begin && results->IsAtBeginningOf(tesseract::RIL_WORD)) add(' ');
                begin = false;
                for (size_t at = 0, length = 0; text[at] != 0; at += length) add(code_point(&text[at], length));
            } while (results->Next(tesseract::RIL_SYMBOL));
        }
    }
    // Whatever is kept of the page would be kept until the next one.
    engine.api.Clear();
}

}  // namespace

extern "C" cv_status cv_text_engine_create(const char *folder, cv_text_engine **engine, cv_error *error) {
    using namespace cvision;
    *engine = nullptr;
    return guard(error, [&] {
        std::ifstream file(std::string(folder) + "/" + language + ".traineddata", std::ios::binary);
        const std::vector<char> model((std::istreambuf_iterator<char>(file)), {});
        if (model.empty()) return fail(error, CV_MODEL_UNAVAILABLE, "eng.traineddata is missing or not readable");
        auto made = std::make_unique<cv_text_engine>();
        made->sha256 = sha256_hex(model);
        // No dictionary: names and numbers are no words of a language, and a reader that prefers words would invent them.
        const std::vector<std::string> names{"load_system_dawg", "load_freq_dawg", "load_punc_dawg", "load_number_dawg",
                                             "load_unambig_dawg", "load_bigram_dawg"};
        const std::vector<std::string> values(names.size(), "0");
        if (made->api.Init(model.data(), static_cast<int>(model.size()), language, tesseract::OEM_LSTM_ONLY, nullptr, 0,
                           &names, &values, false, nullptr) != 0)
            return fail(error, CV_MODEL_UNAVAILABLE, "eng.traineddata is damaged");
        made->api.SetPageSegMode(tesseract::PSM_RAW_LINE);
        // Light print on dark paper is not sought: trying it would double the time of everything that is hard to read.
        made->api.SetVariable("tessedit_do_invert", "0");
        made->api.SetVariable("invert_threshold", "0");
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
