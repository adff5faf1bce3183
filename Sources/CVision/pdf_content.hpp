// What the content stream of a PDF's page draws (ISO 32000-1 §7.8.2 and annex A), where it draws one image and nothing else.
#pragma once
#include <string>

#include "image_codecs.hpp"

namespace cvision::pdf {

struct Drawing {
    std::string name;     // of the image, in the page's resources
    int orientation = 1;  // how the page shows the stored image, as an EXIF orientation
};

/// False if the page shows anything besides one image: text, unless it is invisible as that of a scanner's text recognition;
/// lines; a second image; an image that is turned by other than right angles.
bool read_content(Source content, Drawing &drawing);

}  // namespace cvision::pdf
