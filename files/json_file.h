// Writes JSON with the same bytes on every machine, and reads JSON objects
// strictly, field by field. The reader collects all problems, one line
// "PATH:LINE:COLUMN: error: .." for each.
#ifndef FILES_JSON_FILE_H_
#define FILES_JSON_FILE_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// Returns the value on one line without spaces. A real number is the shortest
// decimal that reads back as the same double. NaN and the infinities, which
// JSON does not have, become null. Bytes that are not UTF-8 become U+FFFD.
std::string JsonText(const nlohmann::ordered_json& value);

class JsonFile;

// An object in a file. The file must outlive it.
//
// A field that is null counts as absent. An absent field is a problem, unless
// `otherwise` is given. A value of another type or out of range is also a
// problem. In these cases, the functions return `otherwise` if it is given.
// Without `otherwise`, they return `min`, the first choice, or an empty value.
class JsonObject {
 public:
  bool Has(const std::string& key) const { return Find(key) != nullptr; }

  bool Bool(const std::string& key, std::optional<bool> otherwise = {}) const;
  std::string Text(const std::string& key) const;
  int64_t Integer(const std::string& key, std::optional<int64_t> otherwise = {},
                  int64_t min = 0,
                  int64_t max = std::numeric_limits<int64_t>::max()) const;
  double Real(const std::string& key, double otherwise,
              double min = -std::numeric_limits<double>::infinity(),
              double max = std::numeric_limits<double>::infinity()) const;
  // Returns the index of the value among `choices`.
  size_t Choice(const std::string& key,
                absl::Span<const absl::string_view> choices,
                std::optional<size_t> otherwise = {}) const;

  // Returns `nullopt` for an absent field, which is not a problem.
  std::optional<JsonObject> Object(const std::string& key) const;
  // Returns the strings in an object, each with its name. An absent field is
  // not a problem.
  std::map<std::string, std::string> Texts(const std::string& key) const;
  // Returns the numbers in an object, each with its name. null becomes NaN.
  std::map<std::string, double> Numbers(const std::string& key) const;
  // Returns the integers of an array, each at least 0.
  std::vector<int64_t> Counts(const std::string& key) const;
  std::vector<std::string> TextList(const std::string& key) const;
  std::vector<JsonObject> Objects(const std::string& key) const;
  const nlohmann::json& Array(const std::string& key) const;

  const nlohmann::json& json() const { return *json_; }

  void Require(const std::string& key) const;

  // Adds a problem at the value of a field, or at the object if there is no
  // such field. Ignored if the file already has kMaxProblems.
  void AddProblem(const std::string& key, absl::string_view problem) const;

 private:
  friend class JsonFile;

  JsonObject(JsonFile* file, const nlohmann::json* json)
      : file_(file), json_(json) {}

  const nlohmann::json* Find(const std::string& key) const;
  // Returns the value of a field if it exists and `fits` accepts it. Otherwise,
  // returns null, and adds a problem unless the field is absent and
  // `may_be_absent`.
  template <typename Fits>
  const nlohmann::json* FindFitting(const std::string& key, bool may_be_absent,
                                    const std::string& wanted, Fits fits) const;
  // Returns an array of `wanted` if `fits` accepts each element. Otherwise,
  // returns an empty array and adds a problem.
  template <typename Fits>
  const nlohmann::json& FindArray(const std::string& key,
                                  const std::string& wanted, Fits fits) const;

  JsonFile* file_;
  const nlohmann::json* json_;
};

class JsonFile {
 public:
  JsonFile(JsonFile&& other);
  JsonFile& operator=(JsonFile&& other);
  ~JsonFile();

  // The maximum number of problems. Locating a problem takes a pass over the
  // text.
  static constexpr size_t kMaxProblems = 100;
  // The maximum number of values. A larger tree takes several hundred
  // megabytes.
  static constexpr size_t kMaxValues = size_t{1} << 22;

  // Parses one JSON object. Other JSON is an error. A repeated key in an object
  // is an error, because readers interpret it differently. Brackets that are
  // nested deeper than any file needs, and more than `most_values` values, are
  // also errors. Messages name `path` and count lines from `line`.
  static absl::StatusOr<JsonFile> Parse(absl::string_view text,
                                        absl::string_view path,
                                        int64_t line = 1,
                                        size_t most_values = kMaxValues);

  // Reads and parses a file. Errors are ready to print.
  static absl::StatusOr<JsonFile> Read(const std::string& path);

  // The outermost object. Valid until this file is moved or destroyed.
  JsonObject root() { return {this, json_.get()}; }

  absl::Status status() const;

 private:
  friend class JsonObject;

  JsonFile();

  std::string text_;
  std::string path_;
  int64_t line_ = 1;  // number of the first line of the text
  std::unique_ptr<nlohmann::json> json_;
  // The offset of each value in the text, by the address of the value. Objects
  // are identified by the address of their fields.
  std::map<const void*, size_t> offsets_;
  std::vector<std::string> problems_;
};

}  // namespace regard

#endif  // FILES_JSON_FILE_H_
