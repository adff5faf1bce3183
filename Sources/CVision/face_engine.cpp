// The face engine behind the C boundary: loads the models and decides at which sizes and rotations to look.
#include <algorithm>
#include <iterator>
#include <memory>
#include <opencv2/imgproc.hpp>

#include "face_models.hpp"
#include "face_parts.hpp"
#include "image.hpp"

using cvision::FaceBox;
using cvision::Landmarks;

struct cv_face_engine {
    cvision::FaceDetector detector;
    cvision::FaceLandmarker landmarker;
    cvision::FaceEmbedder embedder;
    /// Null unless the operator named the model of 68 points.
    std::unique_ptr<cvision::FaceLandmarker> contour;
};

namespace {

/// One look at the image: turned by quarter turns, scaled to at most `longer_side`, enlarged at most `enlargement` times,
/// with a black border of `border` times the longer side. The detector's smallest face is 80 px of the scaled image.
struct Look {
    int quarter_turns;
    int longer_side;
    double enlargement;
    double border;
    double least_score;
};

/// A face that scores this much ends the search. Below it the detector also answers to faces that stand on their head, so
/// the other looks must not find better.
constexpr double sure_score = 0.8;
/// Print and patterns, seen sideways, score up to 0.4.
constexpr double least_turned_score = 0.5;
/// What a face below sure_score must score to be believed without further looks, once none of the other ways up scores more.
constexpr double believable_score = 0.5;

/// Cheapest first: an upright image with a face costs one look.
constexpr Look looks[] = {
    // Selfies and most documents: faces from an eighth of the longer side.
    {0, 640, 1, 0, 0},
    // Crops that a face fills, which the detector only finds with room around the face. Such a face has pixels enough at half
    // the size.
    {0, 320, 1, 0.3, 0},
    // The same for selfies and crops taken sideways without saying so in EXIF.
    {1, 320, 1, 0.3, least_turned_score},
    {3, 320, 1, 0.3, least_turned_score},
    {2, 320, 1, 0.3, least_turned_score},
    // Small portraits on wide scans, and images of few pixels.
    {0, 1280, 2, 0.1, 0},
    // The smaller faces of images taken sideways.
    {1, 960, 1.5, 0, least_turned_score},
    {3, 960, 1.5, 0, least_turned_score},
    {2, 960, 1.5, 0, least_turned_score},
};

/// On a document, of which nothing but the document is shown: portraits are a sixth of its width and more, those that a laser
/// engraved a second time a tenth.
constexpr Look document_looks[] = {
    {0, 640, 2, 0, 0},
    {0, 1024, 2, 0.1, 0},
    {1, 640, 2, 0, least_turned_score},
    {3, 640, 2, 0, least_turned_score},
    {2, 640, 2, 0, least_turned_score},
};
/// The one look at a side that bears no portrait: what is taken for a back may be a front after all, and a card's portrait
/// shows a face of a fifth of its width.
constexpr Look back_look = {0, 480, 2, 0, 0};
/// A face on a document that scores this much needs no closer look: faces elsewhere in its print score less.
constexpr double clear_score = 0.25;

/// Over the longer side: a face that wide is the image's subject, even with others behind.
constexpr double subject_width = 0.2;

/// As many faces as this are a group, in which some stand further back: one closer look counts them.
constexpr size_t group = 3;
constexpr Look group_look = {0, 1280, 2, 0, believable_score};

/// Longer side to which an image is reduced once, before the looks reduce it further.
constexpr int workspace_side = 1280;

/// `gray` with its longer side at most `longer_side`, enlarged at most `enlargement` times; `scale` becomes the factor.
cv::Mat scaled_to(const cv::Mat &gray, int longer_side, double enlargement, double &scale) {
    scale = std::min(enlargement, static_cast<double>(longer_side) / std::max(gray.cols, gray.rows));
    if (scale == 1) return gray;
    const cv::Size size(std::max(1, static_cast<int>(std::lround(gray.cols * scale))),
                        std::max(1, static_cast<int>(std::lround(gray.rows * scale))));
    if (scale < 1) return cvision::shrunk(gray, size);
    cv::Mat result;
    cv::resize(gray, result, size, 0, 0, cv::INTER_LINEAR);
    return result;
}

/// The image after clockwise quarter turns.
cv::Mat turned(const cv::Mat &picture, int turns) {
    if (turns == 0) return picture;
    cv::Mat result;
    cv::rotate(picture, result,
               turns == 1   ? cv::ROTATE_90_CLOCKWISE
               : turns == 2 ? cv::ROTATE_180
                            : cv::ROTATE_90_COUNTERCLOCKWISE);
    return result;
}

/// Faces that one look finds in `gray`, in its pixels after the look's turns.
std::vector<FaceBox> find(cvision::FaceDetector &detector, const cv::Mat &gray, const Look &look) {
    double scale;
    cv::Mat picture = turned(scaled_to(gray, look.longer_side, look.enlargement, scale), look.quarter_turns);
    const int margin = static_cast<int>(look.border * std::max(picture.cols, picture.rows));
    if (margin > 0) cv::copyMakeBorder(picture, picture, margin, margin, margin, margin, cv::BORDER_CONSTANT, 0);
    std::vector<FaceBox> faces;
    for (const FaceBox &face : detector.detect(picture)) {
        if (face.score < look.least_score) continue;
        const cv::Rect2d rect((face.rect.x - margin) / scale, (face.rect.y - margin) / scale, face.rect.width / scale,
                              face.rect.height / scale);
        faces.push_back({rect, face.score});
    }
    return faces;
}

/// Where a point of the turned image lies in the original of `size`.
cv::Point2d turned_back(cv::Point2d point, cv::Size size, int turns) {
    switch (turns) {
    case 1: return {point.y, size.height - 1 - point.x};
    case 2: return {size.width - 1 - point.x, size.height - 1 - point.y};
    case 3: return {size.width - 1 - point.y, point.x};
    default: return point;
    }
}

cv_face described(const cv_face_engine &engine, const cv_image &image, const cv::Mat &upright, FaceBox box, int turns) {
    const Landmarks points = engine.landmarker.locate(upright, box.rect);
    const cv::Size size = image.gray.size();
    const cv::Point2d a = turned_back(box.rect.tl(), size, turns);
    const cv::Point2d b = turned_back(box.rect.br(), size, turns);
    cv_face face = {};
    face.x = std::min(a.x, b.x);
    face.y = std::min(a.y, b.y);
    face.width = std::abs(a.x - b.x);
    face.height = std::abs(a.y - b.y);
    face.score = box.score;
    face.quarter_turns = turns;
    for (size_t i = 0; i < points.size(); ++i) {
        const cv::Point2d point = turned_back(points[i], size, turns);
        face.landmarks[i] = {point.x, point.y};
    }
    cvision::measure_face(image, face);
    if (engine.contour) cvision::measure_contour(engine.contour->points(upright, box.rect), upright.size(), face);
    return face;
}

/// A face that is large in its image, at half the cost of the first of `looks`. Whatever is larger is found as well.
constexpr Look quick_look = {0, 448, 1, 0, 0};

/// Of a region above an MRZ at least this share must be left, else what was cut off is no page below its MRZ.
constexpr double least_left = 0.5;

/// `region` without the MRZ and what lies beyond its end.
cv::Rect above_mrz(const cv::Rect &region, const cv_point mrz[4]) {
    const double across = mrz[3].x - mrz[0].x, down = mrz[3].y - mrz[0].y;
    double x0 = region.x, y0 = region.y, x1 = region.br().x, y1 = region.br().y;
    if (std::abs(down) >= std::abs(across)) {
        down > 0 ? y1 = std::min(y1, std::max(mrz[0].y, mrz[1].y)) : y0 = std::max(y0, std::min(mrz[0].y, mrz[1].y));
    } else {
        across > 0 ? x1 = std::min(x1, std::max(mrz[0].x, mrz[1].x)) : x0 = std::max(x0, std::min(mrz[0].x, mrz[1].x));
    }
    const cv::Rect left(cv::Point(static_cast<int>(x0), static_cast<int>(y0)),
                        cv::Point(static_cast<int>(x1), static_cast<int>(y1)));
    return x1 > x0 && y1 > y0 && left.area() >= least_left * region.area() ? left : region;
}

/// The part of `region` from which an MRZ of two lines begins to where three fifths of them are over: portraits are on that side
/// of the page (Doc 9303-4 §4.2 and -6 §4.2), what lies on the other is print and a second, smaller portrait.
cv::Rect begin_of_lines(const cv::Rect &region, const cv_point mrz[4]) {
    constexpr double share = 0.6;
    const double across = mrz[1].x - mrz[0].x, down = mrz[1].y - mrz[0].y;
    double x0 = region.x, y0 = region.y, x1 = region.br().x, y1 = region.br().y;
    if (std::abs(across) >= std::abs(down)) {
        const double end = mrz[0].x + share * across;
        across > 0 ? x1 = std::min(x1, end) : x0 = std::max(x0, end);
    } else {
        const double end = mrz[0].y + share * down;
        down > 0 ? y1 = std::min(y1, end) : y0 = std::max(y0, end);
    }
    if (x1 - x0 < 1 || y1 - y0 < 1) return region;
    return cv::Rect(cv::Point(static_cast<int>(x0), static_cast<int>(y0)),
                    cv::Point(static_cast<int>(x1), static_cast<int>(y1)));
}

/// The part of the image that shows the document's portrait.
cv::Rect portrait_region(const cv_document_side &side, const cv::Size &size) {
    cv::Rect region(cv::Point(), size);
    if (side.has_outline) {
        double x0 = size.width, y0 = size.height, x1 = 0, y1 = 0;
        for (const cv_point &corner : side.outline) {
            x0 = std::min(x0, corner.x), x1 = std::max(x1, corner.x);
            y0 = std::min(y0, corner.y), y1 = std::max(y1, corner.y);
        }
        const cv::Rect inside = cv::Rect(cv::Point(static_cast<int>(x0), static_cast<int>(y0)),
                                         cv::Point(static_cast<int>(x1) + 1, static_cast<int>(y1) + 1)) &
                                region;
        if (!inside.empty()) region = inside;
    }
    return side.has_mrz ? above_mrz(region, side.mrz) : region;
}

/// How an image is searched.
struct Search {
    cv::Rect region;
    const Look *first, *last;
    double sure;      // a face that scores this much ends the search
    int known_turns;  // 0–3 leaves out the looks for other ways up; −1 looks for all of them
    /// Over the image's longer side: a face this wide ends the search also where it scores less, if it stands upright.
    double believable_width;
    bool counts;  // looks for more where there are several faces
};

/// Where the top left of `region` lies once the image of `size` is turned.
cv::Point turned_corner(const cv::Rect &region, const cv::Size &size, int turns) {
    switch (turns) {
    case 1: return {size.height - region.br().y, region.x};
    case 2: return {size.width - region.br().x, size.height - region.br().y};
    case 3: return {region.y, size.width - region.br().x};
    default: return region.tl();
    }
}

/// Whether `face`, of which one look was not sure, is one that stands upright: seen from near it scores enough, and more than
/// any other way up. Then its box is the one seen from near. A sixth of the cost of looking at the whole image in every way.
bool is_confirmed(cvision::FaceDetector &detector, const cv::Mat &gray, FaceBox &face) {
    // Near is 1.4 times the detector's smallest face, with room for its margin.
    constexpr double side = 112, room = 0.6;
    const cv::Rect2d &rect = face.rect;
    const cv::Rect around = cv::Rect(cv::Rect2d(rect.x - room * rect.width, rect.y - room * rect.height,
                                                (1 + 2 * room) * rect.width, (1 + 2 * room) * rect.height)) &
                            cv::Rect(cv::Point(), gray.size());
    if (around.empty()) return false;
    const double enlargement = side / rect.width;
    const int longer_side = static_cast<int>(enlargement * std::max(around.width, around.height));
    FaceBox upright = face;
    for (int turns = 0; turns < 4; ++turns) {
        const Look near = {turns, longer_side, enlargement, 0.1, 0};
        for (const FaceBox &found : find(detector, gray(around), near)) {
            if (found.score <= upright.score) continue;
            if (turns != 0) return false;
            upright = {found.rect + cv::Point2d(around.tl()), found.score};
        }
        if (upright.score < believable_score) return false;
    }
    face = upright;
    return true;
}

std::vector<cv_face> search(cv_face_engine &engine, const cv_image &image, const Search &search) {
    double reduction;
    const cv::Mat workspace = scaled_to(image.gray(search.region), workspace_side, 1, reduction);
    std::vector<FaceBox> best;
    int turns = 0;
    double best_score = 0;
    int best_side = 0;
    for (const Look *next = search.first; next != search.last; ++next) {
        Look look = *next;
        if (search.known_turns >= 0) {
            if (look.quarter_turns != 0) continue;
            look.quarter_turns = search.known_turns;
        }
        const std::vector<FaceBox> found = find(engine.detector, workspace, look);
        const auto top = std::max_element(found.begin(), found.end(),
                                          [](const FaceBox &a, const FaceBox &b) { return a.score < b.score; });
        if (top == found.end() || (!best.empty() && top->score <= best_score)) continue;
        best_score = top->score;
        turns = look.quarter_turns;
        best = found;
        best_side = look.longer_side;
        if (best_score >= search.sure) break;
        FaceBox &subject = best[static_cast<size_t>(top - found.begin())];
        if (turns == 0 && subject.rect.width >= search.believable_width * std::max(workspace.cols, workspace.rows) &&
            is_confirmed(engine.detector, workspace, subject)) {
            break;
        }
    }
    if (search.counts && best.size() >= group && best_side < group_look.longer_side) {
        Look closer = group_look;
        closer.quarter_turns = turns;
        const std::vector<FaceBox> found = find(engine.detector, workspace, closer);
        if (found.size() > best.size()) best = found;
    }
    std::sort(best.begin(), best.end(),
              [](const FaceBox &a, const FaceBox &b) { return a.rect.area() > b.rect.area(); });
    const cv::Mat upright = turned(image.gray, turns);
    const cv::Point corner = turned_corner(search.region, image.gray.size(), turns);
    std::vector<cv_face> faces;
    for (FaceBox &box : best) {
        const cv::Rect2d &rect = box.rect;
        box.rect = {rect.x / reduction + corner.x, rect.y / reduction + corner.y, rect.width / reduction,
                    rect.height / reduction};
        faces.push_back(described(engine, image, upright, box, turns));
    }
    if (!faces.empty()) cvision::measure_background(image, faces.front());
    return faces;
}

}  // namespace

cv_status cv_face_engine_create(const char *folder, const char *contour, cv_face_engine **engine, cv_error *error) {
    return cvision::guard(error, [&] {
        // An analyzer is one thread. OpenCV would start a pool at the first large image, and a pool does not survive a fork.
        cv::setNumThreads(1);
        // OpenCV fills its tables for CIELAB at first use, in 90 ms that forks need not spend again.
        cv::Mat colour(1, 1, CV_32FC3, cv::Scalar::all(0.5));
        cv::cvtColor(colour, colour, cv::COLOR_RGB2Lab);
        try {
            *engine = new cv_face_engine{
                cvision::FaceDetector(),
                cvision::FaceLandmarker(cvision::read_model(folder, cvision::landmark_model)),
                cvision::FaceEmbedder(cvision::read_model(folder, cvision::descriptor_model)),
                contour == nullptr ? nullptr
                                   : std::make_unique<cvision::FaceLandmarker>(cvision::read_model(
                                         contour, cvision::contour_model.name, cvision::contour_model.sha256)),
            };
            return CV_OK;
        } catch (const cvision::ModelUnavailable &reason) {
            return cvision::fail(error, CV_MODEL_UNAVAILABLE, reason.message.c_str());
        }
    });
}

void cv_face_engine_free(cv_face_engine *engine) { delete engine; }

const char *cv_face_engine_model_sha256(const cv_face_engine *) { return cvision::descriptor_model.sha256; }

cv_status cv_face_detect(cv_face_engine *engine, const cv_image *image, int32_t known_turns, bool only_largest,
                         cv_face *faces, size_t capacity, size_t *count, cv_error *error) {
    return cvision::guard(error, [&] {
        std::vector<Look> order(std::begin(looks), std::end(looks));
        if (only_largest) order.insert(order.begin(), quick_look);
        const Search whole{cv::Rect(cv::Point(), image->gray.size()),
                           order.data(),
                           order.data() + order.size(),
                           sure_score,
                           known_turns,
                           only_largest ? 0 : subject_width,
                           !only_largest};
        const std::vector<cv_face> found = search(*engine, *image, whole);
        std::copy_n(found.begin(), std::min(capacity, found.size()), faces);
        *count = found.size();
        return CV_OK;
    });
}

cv_status cv_face_detect_on_document(cv_face_engine *engine, const cv_image *image, const cv_document_side *side,
                                     int32_t known_turns, cv_face *faces, size_t capacity, size_t *count,
                                     cv_error *error) {
    return cvision::guard(error, [&] {
        const Look *first = side->bears_portrait ? std::begin(document_looks) : &back_look;
        const Look *last = side->bears_portrait ? std::end(document_looks) : &back_look + 1;
        const cv::Rect region = portrait_region(*side, image->gray.size());
        std::vector<cv_face> found;
        if (side->has_mrz && side->bears_portrait && known_turns >= 0) {
            // Where the portrait is, at the same size as the first look at all of it would show it.
            const cv::Rect likely = begin_of_lines(region, side->mrz);
            Look look = document_looks[0];
            look.longer_side =
                look.longer_side * std::max(likely.width, likely.height) / std::max(region.width, region.height);
            const Search near{likely, &look, &look + 1, clear_score, known_turns, 1, false};
            if (likely != region) found = search(*engine, *image, near);
        }
        const bool is_clear =
            std::any_of(found.begin(), found.end(), [](const cv_face &face) { return face.score >= clear_score; });
        if (!is_clear) {
            const Search document{region, first, last, clear_score, known_turns, 1, false};
            found = search(*engine, *image, document);
        }
        std::copy_n(found.begin(), std::min(capacity, found.size()), faces);
        *count = found.size();
        return CV_OK;
    });
}

cv_status cv_face_features(cv_face_engine *engine, const cv_image *image, const cv_face *faces, size_t count,
                           float *embeddings, cv_error *error) {
    return cvision::guard(error, [&] {
        if (count == 0) return CV_OK;
        std::vector<cv::Mat> chips;
        for (size_t i = 0; i < count; ++i) {
            chips.push_back(cvision::face_chip(image->bgr, cvision::landmarks_of(faces[i])));
        }
        for (const cvision::Embedding &embedding : engine->embedder.embed(chips)) {
            embeddings = std::copy(embedding.begin(), embedding.end(), embeddings);
        }
        return CV_OK;
    });
}

cvision::FaceDetector &cvision::detector_of(cv_face_engine &engine) { return engine.detector; }
const cvision::FaceLandmarker &cvision::landmarker_of(const cv_face_engine &engine) { return engine.landmarker; }
