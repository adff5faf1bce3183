// Reads a line of text on a straightened document.
#include <algorithm>
#include <opencv2/core.hpp>

#include "image.hpp"
#include "text_network.hpp"
#include "text_page.hpp"

namespace {

/// Reads the rectangle `wanted` of `gray`; nothing if they do not overlap.
void read_box(const cv::Mat &gray, const cv::Rect2d &wanted, cvision::text::Readers readers, cv_text_reading &reading) {
    const cv::Rect box = cv::Rect(cv::Point(cvFloor(wanted.x), cvFloor(wanted.y)),
                                  cv::Point(cvCeil(wanted.br().x), cvCeil(wanted.br().y))) &
                         cv::Rect(0, 0, gray.cols, gray.rows);
    if (box.empty()) return;
    std::vector<cvision::text::Character> line = cvision::text::read_line(gray(box), readers);
    while (!line.empty() && line.back().letter == U' ') line.pop_back();
    for (size_t i = 0; i < line.size(); ++i) {
        const bool is_blank = line[i].letter == U' ';
        if (is_blank && (reading.count == 0 || line[i - 1].letter == U' ')) continue;
        const auto add = [&](char32_t character, float confidence) {
            if (reading.count >= CV_TEXT_MAX_CHARACTERS) return;
            reading.characters[reading.count] = character;
            reading.confidences[reading.count++] = confidence;
        };
        add(line[i].letter, is_blank ? line[i - 1].confidence : line[i].confidence);
        if (line[i].mark != 0) add(line[i].mark, line[i].confidence);
    }
}

cvision::text::Readers networks(cv_text_readers readers) {
    switch (readers) {
    case CV_TEXT_SECOND: return cvision::text::Readers::second;
    default: return cvision::text::Readers::first;
    }
}

}  // namespace

extern "C" const char *cv_text_model_sha256(void) { return cvision::text::weights_sha256().c_str(); }

extern "C" cv_status cv_text_read(const cv_text_page *page, int32_t index, bool again, cv_text_readers readers,
                                  cv_text_reading *reading, cv_error *error) {
    reading->count = 0;
    return cvision::guard(error, [&] {
        const cv_text_line &line = page->lines.at(static_cast<size_t>(index));
        // Room for tails below and accents above, which are too small to be found as part of the line.
        const double margin = (again ? 0.55 : 0.3) * line.character_height,
                     above = margin + 0.15 * line.character_height;
        read_box(page->gray, {line.x - margin, line.y - above, line.width + 2 * margin, line.height + above + margin},
                 networks(readers), *reading);
        return CV_OK;
    });
}

extern "C" cv_status cv_text_read_box(const cv_text_page *page, double x, double y, double width, double height,
                                      cv_text_readers readers, cv_text_reading *reading, cv_error *error) {
    reading->count = 0;
    return cvision::guard(error, [&] {
        read_box(page->gray, {x, y, width, height}, networks(readers), *reading);
        return CV_OK;
    });
}
