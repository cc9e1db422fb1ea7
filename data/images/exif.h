// Metadata that cameras write (CIPA DC-008, "Exchangeable image file format").
#ifndef DATA_IMAGES_EXIF_H_
#define DATA_IMAGES_EXIF_H_

#include "absl/strings/string_view.h"

namespace regard {

// The orientation, 1 to 8, in a TIFF structure; 1, the image as it is, where
// there is none or the bytes are no such structure.
int ExifOrientation(absl::string_view tiff);

}  // namespace regard

#endif  // DATA_IMAGES_EXIF_H_
