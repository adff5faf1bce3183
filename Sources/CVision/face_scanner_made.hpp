// The scanner as the includer's dlib compiles it: no include guard, since each width includes it once.
namespace cvision {
namespace {

class MadeScanner final : public FaceScanner {
public:
    MadeScanner() {
        std::istringstream stream(
            std::string(reinterpret_cast<const char *>(cvision_face_detector), cvision_face_detector_size));
        dlib::frontal_face_detector detector;
        dlib::deserialize(detector, stream);
        this->scanner.copy_configuration(detector.get_scanner());
        this->overlap = detector.get_overlap_tester();
        for (unsigned long i = 0; i < detector.num_detectors(); ++i) {
            Filter filter;
            filter.w = detector.get_w(i);
            filter.init(this->scanner);
            this->filters.push_back(filter);
        }
    }

    std::vector<FaceBox> detect(const cv::Mat &gray, double sure, size_t levels) override {
        return this->found(gray, this->filters.size(), sure, levels);
    }
    std::vector<FaceBox> detect_frontal(const cv::Mat &gray, size_t levels) override {
        return this->found(gray, 1, 0, levels);
    }

private:
    using Scanner = dlib::frontal_face_detector::image_scanner_type;
    using Filter = dlib::processed_weight_vector<Scanner>;

    /// As dlib's object_detector does it, but that a face of the first filter may end the search.
    std::vector<FaceBox> found(const cv::Mat &gray, size_t count, double sure, size_t levels) {
        dlib::array2d<unsigned char> pixels(gray.rows, gray.cols);
        for (int y = 0; y < gray.rows; ++y) std::copy_n(gray.ptr<unsigned char>(y), gray.cols, &pixels[y][0]);
        this->scanner.set_max_pyramid_levels(levels);
        this->scanner.load(pixels);
        std::vector<std::pair<double, dlib::rectangle>> seen;
        std::vector<dlib::rect_detection> all;
        for (size_t i = 0; i < count; ++i) {
            const double limit = this->filters[i].w(this->scanner.get_num_dimensions());
            this->scanner.detect(this->filters[i].get_detect_argument(), seen, limit);
            for (const auto &[value, rect] : seen) {
                dlib::rect_detection face;
                face.detection_confidence = value - limit;
                face.weight_index = i;
                face.rect = rect;
                all.push_back(face);
            }
            if (i == 0 && !all.empty() && all.front().detection_confidence >= sure) break;
        }
        if (count > 1) std::sort(all.rbegin(), all.rend());
        std::vector<FaceBox> boxes;
        std::vector<dlib::rectangle> kept;
        for (const dlib::rect_detection &face : all) {
            if (std::any_of(kept.begin(), kept.end(),
                            [&](const dlib::rectangle &rect) { return this->overlap(rect, face.rect); }))
                continue;
            kept.push_back(face.rect);
            boxes.push_back({cv::Rect2d(face.rect.left(), face.rect.top(), face.rect.width(), face.rect.height()),
                             face.detection_confidence});
        }
        return boxes;
    }

    Scanner scanner;
    dlib::test_box_overlap overlap;
    std::vector<Filter> filters;
};

}  // namespace
}  // namespace cvision
