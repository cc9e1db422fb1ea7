// The names of classes in a config.json.
#ifndef PRETRAINED_CLASS_NAMES_H_
#define PRETRAINED_CLASS_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

class JsonObject;

// The maximum number of classes that a file may declare without names.
inline constexpr int64_t kMaxClasses = int64_t{1} << 20;

// Reads an object that maps ids to names, or an array of names. `otherwise` is
// the default. Reports invalid values as problems of the file.
std::vector<std::string> ReadClasses(const JsonObject& json, const char* key,
                                     std::vector<std::string> otherwise);

// Returns the names LABEL_0, LABEL_1, ..
std::vector<std::string> UnnamedClasses(int64_t classes);

// Adds "id2label" and "label2id", as transformers does.
void WriteClasses(absl::Span<const std::string> classes,
                  nlohmann::ordered_json* json);

}  // namespace regard

#endif  // PRETRAINED_CLASS_NAMES_H_
