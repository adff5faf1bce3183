#include <opencv2/imgproc.hpp>

#include "image.hpp"

// Rows of short strokes on a gradient: enough for every detector to run, and for none to find anything.
extern "C" cv_status cv_image_test_card(int32_t width, int32_t height, cv_image **image, cv_error *error) {
    return cvision::guard(error, [&] {
        auto card = std::make_unique<cv_image>();
        card->bgr.create(height, width, CV_8UC3);
        for (int y = 0; y < height; ++y) {
            for (int x = 0; x < width; ++x) {
                const auto shade = static_cast<uchar>(120 + 100 * x / width);
                const bool stroke =
                    y % 24 < 14 && (x * 7 + y / 24 * 5) % 13 < 5 && x > width / 10 && x < width * 9 / 10;
                card->bgr.at<cv::Vec3b>(y, x) = stroke ? cv::Vec3b(30, 30, 40) : cv::Vec3b(shade, shade, 200);
            }
        }
        cv::cvtColor(card->bgr, card->gray, cv::COLOR_BGR2GRAY);
        *image = card.release();
        return CV_OK;
    });
}
