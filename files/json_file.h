// JSON text: written with the same bytes on every machine, and read strictly,
// as one object field by field, whose problems are gathered, a line
// "PATH:LINE:COLUMN: error: .." each.
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

// The value on one line without spaces, a real number as the shortest decimal
// that reads back as the same double. NaN and the infinities, which JSON lacks,
// are null; bytes that are not UTF-8 become U+FFFD.
std::string JsonText(const nlohmann::ordered_json& value);

class JsonFile;

// An object of a file, which outlives it. A field that is null counts as
// absent. An absent field is a problem, unless a value to read in its place is
// given; so is a value of another type or out of range. What is read then is
// `otherwise`, else `min`, the first of the choices, or what is empty.
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
  // The index of one of `choices`.
  size_t Choice(const std::string& key,
                absl::Span<const absl::string_view> choices,
                std::optional<size_t> otherwise = {}) const;

  // Absent without a problem.
  std::optional<JsonObject> Object(const std::string& key) const;
  // The strings of an object by their names; without a problem if it is absent.
  std::map<std::string, std::string> Texts(const std::string& key) const;
  // The numbers of an object by their names, NaN for null.
  std::map<std::string, double> Numbers(const std::string& key) const;
  // The integers of an array, from 0 on.
  std::vector<int64_t> Counts(const std::string& key) const;
  std::vector<std::string> TextList(const std::string& key) const;
  std::vector<JsonObject> Objects(const std::string& key) const;
  const nlohmann::json& Array(const std::string& key) const;

  const nlohmann::json& json() const { return *json_; }

  void Require(const std::string& key) const;

  // Adds a problem at the value of a field or, if there is none, at the object,
  // unless the file has kMostProblems.
  void Complain(const std::string& key, absl::string_view problem) const;

 private:
  friend class JsonFile;

  JsonObject(JsonFile* file, const nlohmann::json* json)
      : file_(file), json_(json) {}

  const nlohmann::json* Find(const std::string& key) const;
  // The value of a field, if it is there and `fits`; else a problem, unless it
  // may be absent.
  template <typename Fits>
  const nlohmann::json* FindFitting(const std::string& key, bool may_be_absent,
                                    const std::string& wanted, Fits fits) const;
  // The same of an array of `wanted`, each of which `fits`; else an empty one.
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

  // Locating one takes a pass over the text.
  static constexpr size_t kMostProblems = 100;
  // A tree of more takes several hundred megabytes.
  static constexpr size_t kMostValues = size_t{1} << 22;

  // An error if `text` is not one JSON object, has a key twice in one object
  // (two readers would understand it differently), nests brackets deeper than
  // any file needs, or has more than `most_values`. Messages name `path` and
  // count lines from `line`.
  static absl::StatusOr<JsonFile> Parse(absl::string_view text,
                                        absl::string_view path,
                                        int64_t line = 1,
                                        size_t most_values = kMostValues);

  // The same of a file; errors are complete to print.
  static absl::StatusOr<JsonFile> Read(const std::string& path);

  // Valid while this is not moved.
  JsonObject root() { return {this, json_.get()}; }

  absl::Status status() const;

 private:
  friend class JsonObject;

  JsonFile();

  std::string text_;
  std::string path_;
  int64_t line_ = 1;  // of the text's first
  std::unique_ptr<nlohmann::json> json_;
  // The offsets in the text of all objects, by the address of their fields, and
  // of the values of fields, by their own.
  std::map<const void*, size_t> offsets_;
  std::vector<std::string> problems_;
};

}  // namespace regard

#endif  // FILES_JSON_FILE_H_
