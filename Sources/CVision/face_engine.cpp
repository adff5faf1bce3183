// The face engine behind the C boundary: loads the models and decides at which sizes and rotations to search.
#include <algorithm>
#include <cmath>
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
    /// Null if faces are only found.
    std::unique_ptr<cvision::FaceEmbedder> embedder;
    /// Null unless the operator configured the 68-point model.
    std::unique_ptr<cvision::FaceLandmarker> contour;
    /// Every pass is made at a quarter of its size.
    bool rehearses = false;
};

namespace {

/// One pass of the detector: the image rotated by quarter turns, scaled to at most `longer_side`, enlarged at most `enlargement`
/// times, with a black border of `border` times the longer side. The smallest face it detects has 80 px of the scaled image.
struct Pass {
    int quarter_turns;
    int longer_side;
    double enlargement;
    double border;
    double least_score;
    bool is_frontal = false;  // searches with the first of the five filters alone, for faces that look straight ahead
    size_t levels = cvision::every_level;  // the sizes of faces, from 80 px of the scaled image
};

/// A face with this score ends the search. Below it the detector also finds upside-down faces, so the other passes must not
/// find a better one.
constexpr double sure_score = 0.8;
/// Text and patterns, seen sideways, score up to 0.4.
constexpr double least_turned_score = 0.5;
/// The least score below sure_score that ends the search, if no other orientation of the face scores more.
constexpr double believable_score = 0.5;

/// Cheapest first: an upright image with a face costs one pass.
constexpr Pass passes[] = {
    // Selfies and most documents: faces from an eighth of the longer side.
    {0, 640, 1, 0, 0},
    // Crops filled by a face, which the detector finds only with room around it. Half the size has enough pixels for it.
    {0, 320, 1, 0.3, 0},
    // The same for selfies and crops taken sideways without an EXIF orientation.
    {1, 320, 1, 0.3, least_turned_score},
    {3, 320, 1, 0.3, least_turned_score},
    {2, 320, 1, 0.3, least_turned_score},
    // Small portraits on wide scans, and images of few pixels.
    {0, 1280, 2, 0.1, 0},
    // Smaller faces in images taken sideways.
    {1, 960, 1.5, 0, least_turned_score},
    {3, 960, 1.5, 0, least_turned_score},
    {2, 960, 1.5, 0, least_turned_score},
};

/// Width of a portrait's face over the longer side of its document, at most: 0.24 on cards without an MRZ.
constexpr double largest_portrait = 0.3;

/// For the crop of a document: portraits have a sixth of its width or more, laser-engraved second portraits a tenth.
/// Portraits look straight ahead (ISO/IEC 19794-5): one filter is enough but for the first pass, which also finds portraits on
/// pages that lie at an angle and those that are larger than on any document.
const Pass document_passes[] = {
    {0, 640, 2, 0, 0},
    {0, 1024, 2, 0, 0, true, cvision::levels_to(1024.0 / 640 / 1.2)},
    {1, 640, 2, 0, least_turned_score, true, cvision::levels_to(largest_portrait * 640 / 80)},
    {3, 640, 2, 0, least_turned_score, true, cvision::levels_to(largest_portrait * 640 / 80)},
    {2, 640, 2, 0, least_turned_score, true, cvision::levels_to(largest_portrait * 640 / 80)},
};
/// The single pass for a side without a portrait: a supposed back may be a front after all, and the face in a card's portrait
/// has a fifth of its width.
const Pass back_pass = {0, 400, 2, 0, 0, false, cvision::levels_to(largest_portrait * 400 / 80)};
/// A face on a document with this score needs no further pass: false faces in its text score less.
constexpr double clear_score = 0.25;

/// Faces above the first characters of an MRZ, which have 0.14 to 0.26 of its length. At the first size the filters reach from
/// 0.178, and what is a fifth smaller still scores enough: 450, 480, 533 and 590 px found the same faces. The other two are
/// for those that are dark, tilted or blurred, which score at one size and not at another.
struct NearPass {
    double mrz_length;  // in pixels of the scaled image
    bool is_frontal;
    size_t levels;
    double sure;
};
const NearPass near_passes[] = {
    {450, true, cvision::levels_to(0.26 * 450 / 80), 0.25},
    {640, false, cvision::levels_to(0.26 * 640 / 80), 0.1},
    {800, true, cvision::levels_to(0.26 * 800 / 80), 0.1},
};

/// Of the longer side: a face this wide is the image's subject, even with others behind it.
constexpr double subject_width = 0.2;

/// This many faces are a group, in which some are further away: one pass at a larger size counts them.
constexpr size_t group = 3;
constexpr Pass group_pass = {0, 1280, 2, 0, believable_score};

/// An image of twice this longer side or more is halved once, before the passes reduce it further.
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
cv::Mat turned(const cv::Mat &image, int turns) {
    if (turns == 0) return image;
    cv::Mat result;
    cv::rotate(image, result,
               turns == 1   ? cv::ROTATE_90_CLOCKWISE
               : turns == 2 ? cv::ROTATE_180
                            : cv::ROTATE_90_COUNTERCLOCKWISE);
    return result;
}

constexpr double never = std::numeric_limits<double>::infinity();

/// Faces that one pass finds in `gray`, in its pixels after the pass's turns; `sure` as for the detector.
std::vector<FaceBox> find(cvision::FaceDetector &detector, const cv::Mat &gray, const Pass &pass, double sure = never) {
    double scale;
    cv::Mat image = turned(scaled_to(gray, pass.longer_side, pass.enlargement, scale), pass.quarter_turns);
    const int margin = static_cast<int>(pass.border * std::max(image.cols, image.rows));
    if (margin > 0) cv::copyMakeBorder(image, image, margin, margin, margin, margin, cv::BORDER_CONSTANT, 0);
    std::vector<FaceBox> faces;
    const std::vector<FaceBox> seen = pass.is_frontal
                                          ? detector.detect_frontal(image, pass.levels)
                                          : detector.detect(image, std::max(sure, pass.least_score), pass.levels);
    for (const FaceBox &face : seen) {
        if (face.score < pass.least_score) continue;
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

/// Finds faces that are large in their image, at half the cost of the first of `passes`.
constexpr Pass quick_pass = {0, 448, 1, 0, 0};

/// How to search an image.
struct Search {
    cv::Rect region;
    const Pass *first, *last;
    double sure;      // a face with this score ends the search
    int known_turns;  // 0–3 skips the passes for other orientations; −1 tries all
    /// Of the image's longer side: an upright face this wide ends the search even with a lower score.
    double believable_width;
    bool counts;     // searches for more where there are several faces
    double frontal;  // a face with this score that looks straight ahead is enough for a pass
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

/// Whether the uncertain `face` is upright: enlarged, it scores enough, and more than in any other orientation. If so, `face`
/// becomes the enlarged detection. Costs a sixth of searching the whole image in every orientation.
bool is_confirmed(cvision::FaceDetector &detector, const cv::Mat &gray, FaceBox &face) {
    // 1.4 times the detector's smallest face, with room for its margin.
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
        const Pass near = {turns, longer_side, enlargement, 0.1, 0};
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
    double reduction = 1;
    cv::Size size = search.region.size();
    for (; std::max(size.width, size.height) >= 2 * workspace_side; reduction /= 2) {
        size = {std::max(1, size.width / 2), std::max(1, size.height / 2)};
    }
    const cv::Mat workspace = cvision::shrunk(image.gray(search.region), size);
    std::vector<FaceBox> best;
    int turns = 0;
    double best_score = 0;
    int best_side = 0;
    for (const Pass *next = search.first; next != search.last; ++next) {
        Pass pass = *next;
        if (search.known_turns >= 0) {
            if (pass.quarter_turns != 0) continue;
            pass.quarter_turns = search.known_turns;
        }
        if (engine.rehearses) pass.longer_side /= 4;
        const std::vector<FaceBox> found = find(engine.detector, workspace, pass, search.frontal);
        const auto top = std::max_element(found.begin(), found.end(),
                                          [](const FaceBox &a, const FaceBox &b) { return a.score < b.score; });
        if (top == found.end() || (!best.empty() && top->score <= best_score)) continue;
        best_score = top->score;
        turns = pass.quarter_turns;
        best = found;
        best_side = pass.longer_side;
        if (best_score >= search.sure) break;
        FaceBox &subject = best[static_cast<size_t>(top - found.begin())];
        if (turns == 0 && subject.rect.width >= search.believable_width * std::max(workspace.cols, workspace.rows) &&
            is_confirmed(engine.detector, workspace, subject)) {
            break;
        }
    }
    if (search.counts && best.size() >= group && best_side < group_pass.longer_side) {
        Pass closer = group_pass;
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

/// The portrait's face in the part of `region` above the first characters of `mrz`; empty if none is certain.
std::vector<cv_face> near_faces(cv_face_engine &engine, const cv_image &image, const cv::Rect &region,
                                const cv_point mrz[4], int turns) {
    const cv::Rect likely = cvision::begin_of_lines(region, mrz);
    const double length = std::hypot(mrz[1].x - mrz[0].x, mrz[1].y - mrz[0].y);
    if (likely.width < 16 || likely.height < 16) return {};
    for (const NearPass &near : near_passes) {
        const double scale = near.mrz_length / std::max(length, 1.0);
        const Pass pass = {
            0, cvRound(std::max(likely.width, likely.height) * scale), 2, 0, near.sure, near.is_frontal, near.levels};
        const Search portrait{likely, &pass, &pass + 1, near.sure, turns, 1, false, near.sure};
        const std::vector<cv_face> found = search(engine, image, portrait);
        if (!found.empty()) return found;
    }
    return {};
}

}  // namespace

cv_status cv_face_engine_create(const char *folder, const char *contour, bool describes, cv_face_engine **engine,
                                cv_error *error) {
    return cvision::guard(error, [&] {
        // An analyzer has one thread. OpenCV would start a pool at the first large image, and a pool does not survive a fork.
        cv::setNumThreads(1);
        try {
            *engine = new cv_face_engine{
                cvision::FaceDetector(),
                cvision::FaceLandmarker(cvision::read_model(folder, cvision::landmark_model)),
                describes
                    ? std::make_unique<cvision::FaceEmbedder>(cvision::read_model(folder, cvision::descriptor_model))
                    : nullptr,
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

void cv_face_engine_rehearse(cv_face_engine *engine, bool rehearses) { engine->rehearses = rehearses; }

const char *cv_face_engine_model_sha256(const cv_face_engine *) { return cvision::descriptor_model.sha256; }

cv_status cv_face_detect(cv_face_engine *engine, const cv_image *image, int32_t known_turns, bool only_largest,
                         cv_face *faces, size_t capacity, size_t *count, cv_error *error) {
    return cvision::guard(error, [&] {
        std::vector<Pass> order(std::begin(passes), std::end(passes));
        if (only_largest) order.insert(order.begin(), quick_pass);
        const Search whole{cv::Rect(cv::Point(), image->gray.size()),
                           order.data(),
                           order.data() + order.size(),
                           sure_score,
                           known_turns,
                           only_largest ? 0 : subject_width,
                           !only_largest,
                           never};
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
        const Pass *first = side->bears_portrait ? std::begin(document_passes) : &back_pass;
        const Pass *last = side->bears_portrait ? std::end(document_passes) : &back_pass + 1;
        const cv::Rect region = cvision::portrait_region(*side, image->gray.size());
        std::vector<cv_face> found;
        if (side->bears_portrait && side->has_mrz && known_turns >= 0) {
            found = near_faces(*engine, *image, region, side->mrz, known_turns);
            // Smaller faces than in portraits need not be sought.
            last = first + 1;
        }
        if (found.empty()) {
            const Search document{region, first, last, clear_score, known_turns, 1, false, clear_score};
            found = search(*engine, *image, document);
        }
        if (found.empty()) found = cvision::oblique_faces(*engine, *image, *side, known_turns);
        std::copy_n(found.begin(), std::min(capacity, found.size()), faces);
        *count = found.size();
        return CV_OK;
    });
}

cv_status cv_face_embeddings(cv_face_engine *engine, const cv_image *image, const cv_face *faces, size_t count,
                             float *embeddings, cv_error *error) {
    return cvision::guard(error, [&] {
        if (count == 0) return CV_OK;
        if (!engine->embedder) return cvision::fail(error, CV_MODEL_UNAVAILABLE, "this engine computes no embeddings");
        std::vector<cv::Mat> chips;
        for (size_t i = 0; i < count; ++i) {
            chips.push_back(cvision::face_chip(image->bgr, cvision::landmarks_of(faces[i])));
        }
        for (const cvision::Embedding &embedding : engine->embedder->embed(chips)) {
            embeddings = std::copy(embedding.begin(), embedding.end(), embeddings);
        }
        return CV_OK;
    });
}

cvision::FaceDetector &cvision::detector_of(cv_face_engine &engine) { return engine.detector; }
const cvision::FaceLandmarker &cvision::landmarker_of(const cv_face_engine &engine) { return engine.landmarker; }
