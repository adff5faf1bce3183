// The scanner as the includer's dlib compiles it: no include guard, since each width includes it once.
namespace cvision {
namespace {

class MadeScanner final : public FaceScanner {
public:
    MadeScanner() {
        std::istringstream stream(
            std::string(reinterpret_cast<const char *>(cvision_face_detector), cvision_face_detector_size));
        dlib::deserialize(this->detector, stream);
        this->frontal = dlib::frontal_face_detector(this->detector.get_scanner(), this->detector.get_overlap_tester(),
                                                    this->detector.get_w(0));
    }

    std::vector<FaceBox> detect(const cv::Mat &gray) override { return found(this->detector, gray); }
    std::vector<FaceBox> detect_frontal(const cv::Mat &gray) override { return found(this->frontal, gray); }

private:
    static std::vector<FaceBox> found(dlib::frontal_face_detector &detector, const cv::Mat &gray) {
        dlib::array2d<unsigned char> pixels(gray.rows, gray.cols);
        for (int y = 0; y < gray.rows; ++y) std::copy_n(gray.ptr<unsigned char>(y), gray.cols, &pixels[y][0]);
        std::vector<dlib::rect_detection> faces;
        detector(pixels, faces);
        std::vector<FaceBox> boxes;
        for (const dlib::rect_detection &face : faces) {
            boxes.push_back({cv::Rect2d(face.rect.left(), face.rect.top(), face.rect.width(), face.rect.height()),
                             face.detection_confidence});
        }
        return boxes;
    }

    dlib::frontal_face_detector detector;
    dlib::frontal_face_detector frontal;
};

}  // namespace
}  // namespace cvision
