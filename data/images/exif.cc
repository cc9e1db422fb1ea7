#include "data/images/exif.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/match.h"

namespace regard {

int ExifOrientation(absl::string_view tiff) {
  constexpr uint64_t kOrientationTag = 0x0112;
  constexpr uint64_t kShort = 3;
  constexpr size_t kEntryBytes = 12;
  const bool little = absl::StartsWith(tiff, "II");
  if (!little && !absl::StartsWith(tiff, "MM")) return 1;
  // Bytes beyond the end count as 0, which matches no entry.
  const auto number = [&](uint64_t offset, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) {
      const uint64_t at =
          offset + static_cast<uint64_t>(little ? bytes - 1 - i : i);
      value = value << 8 |
              (at < tiff.size() ? static_cast<unsigned char>(tiff[at]) : 0);
    }
    return value;
  };
  const uint64_t directory = number(4, 4);
  const uint64_t entries = number(directory, 2);
  for (uint64_t i = 0; i < entries; ++i) {
    const uint64_t entry = directory + 2 + i * kEntryBytes;
    if (number(entry, 2) != kOrientationTag) continue;
    const uint64_t orientation = number(entry + 8, 2);
    const bool valid =
        number(entry + 2, 2) == kShort && orientation >= 1 && orientation <= 8;
    return valid ? static_cast<int>(orientation) : 1;
  }
  return 1;
}

}  // namespace regard
