// Reads Exif metadata (CIPA DC-008, "Exchangeable image file format").
#ifndef DATA_IMAGES_EXIF_H_
#define DATA_IMAGES_EXIF_H_

#include "absl/strings/string_view.h"

namespace regard {

// Returns the orientation, 1 to 8, in a TIFF structure. Returns 1, which leaves
// the image unchanged, if the orientation is missing or the structure is
// invalid.
int ExifOrientation(absl::string_view tiff);

}  // namespace regard

#endif  // DATA_IMAGES_EXIF_H_
