// Reads the config.json fields that Vision Transformers of transformers and
// timm have in common. Reports invalid values as problems of the file.
#ifndef PRETRAINED_VIT_FIELDS_H_
#define PRETRAINED_VIT_FIELDS_H_

#include <cstdint>
#include <optional>
#include <utility>

namespace regard {

class JsonObject;
class TransformerConfig;

inline constexpr int64_t kMaxWidth = 65536;
inline constexpr int64_t kMaxHidden = int64_t{1} << 20;
inline constexpr int64_t kMaxLayers = 256;
inline constexpr int64_t kMaxImageSide = 4096;

// Reads a number from 1 to `most`. `otherwise` is the default.
int ReadSize(const JsonObject& json, const char* key,
             std::optional<int64_t> otherwise, int64_t most);

// Reads a height and a width: an array of both, or one number for both.
std::pair<int64_t, int64_t> ReadHeightAndWidth(
    const JsonObject& json, const char* key,
    std::pair<int64_t, int64_t> otherwise);

// Reads "patch_size", the height and width of a patch in pixels.
int ReadPatch(const JsonObject& json, int64_t otherwise);

// Reads the number of channels, 1 or 3.
int64_t ReadColours(const JsonObject& json, const char* key, int64_t otherwise);

// Reports a problem of `key` unless the number of heads divides the width.
void CheckHeads(const JsonObject& json, const char* key,
                const TransformerConfig& transformer);

// Sets the fields that are equal in all Vision Transformers. `deviation` is the
// standard deviation of the initial values.
void SetCommonVitFields(double deviation, TransformerConfig* transformer);

}  // namespace regard

#endif  // PRETRAINED_VIT_FIELDS_H_
