// Fields of the config.json of Vision Transformers that transformers and timm
// write alike. What is wrong with one is a problem of its file.
#ifndef PRETRAINED_VIT_FIELDS_H_
#define PRETRAINED_VIT_FIELDS_H_

#include <cstdint>
#include <optional>
#include <utility>

namespace regard {

class JsonObject;
class TransformerConfig;

inline constexpr int64_t kMostWidth = 65536;
inline constexpr int64_t kMostHidden = int64_t{1} << 20;
inline constexpr int64_t kMostLayers = 256;
inline constexpr int64_t kMostImageSide = 4096;

// From 1 to `most`.
int ReadSize(const JsonObject& json, const char* key,
             std::optional<int64_t> otherwise, int64_t most);

// Height and width: an array of both, or one number for both.
std::pair<int64_t, int64_t> ReadSides(const JsonObject& json, const char* key,
                                      std::pair<int64_t, int64_t> otherwise);

// "patch_size": the side of a square.
int ReadPatch(const JsonObject& json, int64_t otherwise);

// 1 or 3.
int64_t ReadColours(const JsonObject& json, const char* key, int64_t otherwise);

// A problem of `key` unless the heads divide the width.
void CheckHeads(const JsonObject& json, const char* key,
                const TransformerConfig& transformer);

// What all of them have; `deviation` is that of first values.
void SetVitCommon(double deviation, TransformerConfig* transformer);

}  // namespace regard

#endif  // PRETRAINED_VIT_FIELDS_H_
