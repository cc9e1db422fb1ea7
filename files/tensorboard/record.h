// The framing of TensorBoard's event files (TFRecord): each record lies between
// its length and checksums.
#ifndef FILES_TENSORBOARD_RECORD_H_
#define FILES_TENSORBOARD_RECORD_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace regard::tensorboard {

// CRC-32C (Castagnoli, RFC 3720).
uint32_t Crc32c(absl::string_view bytes);

// The form in which the format stores a checksum: rotated by 15 bits, plus a
// constant.
uint32_t MaskedCrc32c(absl::string_view bytes);

// Length (64 bits little-endian), its masked checksum, the payload, and its
// masked checksum.
std::string FramedRecord(absl::string_view payload);

}  // namespace regard::tensorboard

#endif  // FILES_TENSORBOARD_RECORD_H_
