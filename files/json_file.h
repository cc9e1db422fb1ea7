// JSON text, read strictly: as a tree, or as one object field by field, whose
// problems are gathered, a line "PATH:LINE:COLUMN: error: .." each.
#ifndef FILES_JSON_FILE_H_
#define FILES_JSON_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace regard {

// The offsets in a text of the values of fields.
using JsonOffsets = std::map<const nlohmann::json*, size_t>;

// The tree of a text. What is not JSON, a key that one object has twice, which
// two readers would understand differently, and brackets in each other deeper
// than any file needs are an InvalidArgument. `error` makes its message, of the
// byte where it is and what it is. Fills `offsets` unless it is null.
absl::StatusOr<nlohmann::json> ParseJson(
    absl::string_view text,
    absl::FunctionRef<std::string(size_t offset, absl::string_view problem)>
        error,
    JsonOffsets* offsets = nullptr);

// The place of the first part of a value whose type is not that of its like in
// `shape`, such as "/axes/0/name", "" for the value itself; nothing if all fit.
// An object has the fields of its shape, and may have others; the elements of a
// list are like the one that its shape has. In a shape, null stands for any
// value, a number with a point for any number and null, one below 0 for
// integers, and others for integers from 0.
std::optional<std::string> FindMisfit(const nlohmann::json& value,
                                      const nlohmann::json& shape);

class JsonFile;

// An object of a file, which outlives it. A field that is null counts as
// absent. A value of another type or out of range is a problem, and then read
// as if it were absent.
class JsonObject {
 public:
  std::optional<bool> Bool(const char* key) const;
  std::optional<std::string> Text(const char* key) const;
  std::optional<JsonObject> Object(const char* key) const;
  // Without `otherwise` the field must be there; 1 is read in its place.
  int64_t Integer(const char* key, std::optional<int64_t> otherwise,
                  int64_t min, int64_t max) const;
  double Real(const char* key, double otherwise, double min, double max) const;
  // The index of one of `choices`; 0 if the field is absent.
  size_t Choice(const char* key, const std::vector<std::string>& choices) const;

  // A string, or an object with a string "content".
  std::optional<std::string> Token(const char* key) const;

  const nlohmann::json& json() const { return *json_; }

  // Adds a problem at the value of a field or, if there is none, at the object.
  void Complain(absl::string_view key, absl::string_view problem) const;

 private:
  friend class JsonFile;

  JsonObject(JsonFile* file, const nlohmann::json* json)
      : file_(file), json_(json) {}

  const nlohmann::json* Find(const char* key) const;
  // The value of a field, if it is there and `fits`; else a problem.
  template <typename Fits>
  const nlohmann::json* FindFitting(const char* key, const std::string& wanted,
                                    Fits fits) const;

  JsonFile* file_;
  const nlohmann::json* json_;
};

class JsonFile {
 public:
  // An error if `text` is not one JSON object. `path` is for messages.
  static absl::StatusOr<JsonFile> Parse(absl::string_view text,
                                        absl::string_view path);

  // The same of a file; errors are complete to print.
  static absl::StatusOr<JsonFile> Read(const std::string& path);

  // Valid while this is not moved.
  JsonObject root() { return {this, &json_}; }

  // All problems so far.
  absl::Status status() const;

 private:
  friend class JsonObject;

  std::string text_;
  std::string path_;
  nlohmann::json json_;
  JsonOffsets offsets_;  // of all but the root
  std::vector<std::string> problems_;
};

}  // namespace regard

#endif  // FILES_JSON_FILE_H_
