// Names of classes in a config.json.
#ifndef PRETRAINED_CLASS_NAMES_H_
#define PRETRAINED_CLASS_NAMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

class JsonObject;

// What UnnamedClasses() may be asked for by a file.
inline constexpr int64_t kMostClasses = int64_t{1} << 20;

// Of an object of names by their ids, or of an array of names. What is wrong is
// a problem of the file.
std::vector<std::string> ReadClasses(const JsonObject& json, const char* key,
                                     std::vector<std::string> otherwise);

// LABEL_0, LABEL_1, ..
std::vector<std::string> UnnamedClasses(int64_t classes);

// "id2label" and "label2id", as transformers has them.
void WriteClasses(absl::Span<const std::string> classes,
                  nlohmann::ordered_json* json);

}  // namespace regard

#endif  // PRETRAINED_CLASS_NAMES_H_
