// Writes dlib's face detector to its standard output. From the root of the repository:
//   g++ -O2 Sources/CVision/Training/face_detector.cpp -ldlib -lblas -llapack -o /tmp/face_detector
//   /tmp/face_detector >Sources/CVision/face_detector.bin
#include <dlib/image_processing/frontal_face_detector.h>

#include <iostream>

int main() { dlib::serialize(dlib::get_frontal_face_detector(), std::cout); }
