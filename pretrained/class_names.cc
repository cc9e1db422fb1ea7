#include "pretrained/class_names.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"

namespace regard {

std::vector<std::string> UnnamedClasses(int64_t classes) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < classes; ++i) {
    names.push_back(absl::StrCat("LABEL_", i));
  }
  return names;
}

std::vector<std::string> ReadClasses(const JsonObject& json, const char* key,
                                     std::vector<std::string> otherwise) {
  if (!json.Has(key)) return otherwise;
  std::vector<std::string> classes;
  const auto check = [&](const std::string& name) {
    return !name.empty() && name.find_first_of("\r\n") == std::string::npos;
  };
  if (json.json()[key].is_array()) {
    classes = json.TextList(key);
    if (!std::ranges::all_of(classes, check)) {
      json.AddProblem(
          key, "the name of a class must not be empty or contain a line break");
    }
    return classes;
  }
  const auto names = json.Object(key);
  if (!names.has_value()) return otherwise;
  classes.resize(names->json().size());
  for (const auto& [id, value] : names->json().items()) {
    const std::string name = names->Text(id);
    size_t index = 0;
    if (!absl::SimpleAtoi(id, &index) || index >= classes.size() ||
        !classes[index].empty()) {
      names->AddProblem(id,
                        absl::StrCat("the id '", absl::Utf8SafeCHexEscape(id),
                                     "' must be from 0 to ", classes.size() - 1,
                                     ", and no other class may have it"));
    } else if (!check(name)) {
      names->AddProblem(
          id, "the name of a class must not be empty or contain a line break");
    } else {
      classes[index] = name;
    }
  }
  return classes;
}

void WriteClasses(absl::Span<const std::string> classes,
                  nlohmann::ordered_json* json) {
  nlohmann::ordered_json names = nlohmann::ordered_json::object();
  nlohmann::ordered_json ids = nlohmann::ordered_json::object();
  for (size_t i = 0; i < classes.size(); ++i) {
    names[absl::StrCat(i)] = classes[i];
    ids[classes[i]] = i;
  }
  (*json)["id2label"] = std::move(names);
  (*json)["label2id"] = std::move(ids);
}

}  // namespace regard
