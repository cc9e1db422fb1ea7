#include "files/json_file.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/file.h"
#include "files/number_text.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

using Json = nlohmann::json;

// Returns the address that identifies a value. The elements of an array move
// while it grows, but the fields of an object do not.
const void* AddressOf(const Json& value) {
  if (!value.is_object()) return &value;
  return value.get_ptr<const Json::object_t*>();
}

// Builds the tree from the events of the parser. The library's own builder
// replaces the first of two equal keys with the second, and does not store
// offsets.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  TreeBuilder(absl::string_view text, size_t most_values,
              std::map<const void*, size_t>& offsets)
      : text_(text),
        input_(std::string(text)),
        most_values_(most_values),
        offsets_(offsets) {}

  bool Parse() { return Json::sax_parse(input_, this); }

  Json& root() { return root_; }
  size_t error_offset() const { return error_offset_; }
  const std::string& problem() const { return problem_; }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override {
    return Add(value);
  }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::object()); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }

  bool key(string_t& key) override {
    key_ = key;
    value_offset_ = text_.find_first_not_of(" \t\r\n:", Position());
    if (!open_.back()->contains(key)) return true;
    return Fail(Position(), absl::StrCat("'", absl::Utf8SafeCHexEscape(key),
                                         "' occurs twice"));
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // `position` counts the bytes that were read, including the wrong byte.
    const size_t offset = position > 0 ? position - 1 : 0;
    constexpr int kOutOfRange = 406;
    if (error.id == kOutOfRange) {
      return Fail(offset, "the number is too large");
    }
    if (offset >= text_.size()) {
      return Fail(offset, "not JSON: the text ends too soon");
    }
    // Python writes these names, which are not JSON.
    for (const absl::string_view name : {"NaN", "Infinity"}) {
      if (absl::StartsWith(text_.substr(offset), name)) {
        return Fail(offset, absl::StrCat(name, " is not a JSON number"));
      }
    }
    return Fail(offset, "not JSON from here on");
  }

 private:
  // Returns the number of bytes that the parser has read.
  size_t Position() {
    return static_cast<size_t>(
        input_.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in));
  }

  bool Add(Json value) {
    if (++values_ > most_values_) {
      return Fail(Position(), absl::StrCat("more than ", most_values_,
                                           " values, the limit"));
    }
    if (open_.empty()) {
      added_ = &(root_ = std::move(value));
    } else if (open_.back()->is_array()) {
      added_ = &open_.back()->emplace_back(std::move(value));
    } else {
      added_ = &((*open_.back())[key_] = std::move(value));
      offsets_[AddressOf(*added_)] = value_offset_;
    }
    return true;
  }

  bool Open(Json value) {
    constexpr size_t kMaxOpen = 100;
    if (open_.size() == kMaxOpen) {
      return Fail(Position() - 1, "more than 100 nested brackets, the limit");
    }
    if (!Add(std::move(value))) return false;
    open_.push_back(added_);
    offsets_[AddressOf(*added_)] = Position() - 1;
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  bool Fail(size_t offset, absl::string_view problem) {
    error_offset_ = offset;
    problem_ = std::string(problem);
    return false;
  }

  absl::string_view text_;
  std::istringstream input_;
  size_t most_values_;
  std::map<const void*, size_t>& offsets_;
  Json root_;
  size_t values_ = 0;
  Json* added_ = nullptr;    // the value that was added last
  std::vector<Json*> open_;  // open objects and arrays, which do not move
  std::string key_;          // the last key
  size_t value_offset_ = 0;  // offset of the last key's value
  size_t error_offset_ = 0;
  std::string problem_;
};

std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                Json::error_handler_t::replace);
  constexpr size_t kMax = 40;
  if (text.size() > kMax) text = text.substr(0, kMax) + "...";
  return text;
}

}  // namespace

std::string JsonText(const nlohmann::ordered_json& value) {
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    return std::isfinite(number) ? NumberText(number) : "null";
  }
  if (!value.is_structured()) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  const bool is_object = value.is_object();
  std::string text = is_object ? "{" : "[";
  const char* comma = "";
  for (const auto& [key, element] : value.items()) {
    text += comma;
    if (is_object) absl::StrAppend(&text, JsonText(key), ":");
    text += JsonText(element);
    comma = ",";
  }
  return text + (is_object ? "}" : "]");
}

JsonFile::JsonFile() = default;
JsonFile::JsonFile(JsonFile&& other) = default;
JsonFile& JsonFile::operator=(JsonFile&& other) = default;
JsonFile::~JsonFile() = default;

absl::StatusOr<JsonFile> JsonFile::Parse(absl::string_view text,
                                         absl::string_view path, int64_t line,
                                         size_t most_values) {
  JsonFile file;
  file.text_ = std::string(text);
  file.path_ = std::string(path);
  file.line_ = line;
  const auto error = [&](size_t offset, absl::string_view problem) {
    return absl::InvalidArgumentError(
        ErrorInText(path, text, offset, problem, line));
  };
  TreeBuilder builder(text, most_values, file.offsets_);
  if (!builder.Parse()) return error(builder.error_offset(), builder.problem());
  file.json_ = std::make_unique<Json>(std::move(builder.root()));
  if (!file.json_->is_object()) {
    return error(0, "the text must be a JSON object");
  }
  return file;
}

absl::StatusOr<JsonFile> JsonFile::Read(const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          EnsureErrorPrefix(ReadFile(path)));
  return Parse(text, path);
}

absl::Status JsonFile::status() const {
  if (problems_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
}

const Json* JsonObject::Find(const std::string& key) const {
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

void JsonObject::AddProblem(const std::string& key,
                            absl::string_view problem) const {
  if (file_->problems_.size() == JsonFile::kMaxProblems) return;
  const auto value = json_->find(key);
  const size_t offset =
      file_->offsets_.at(AddressOf(value == json_->end() ? *json_ : *value));
  file_->problems_.push_back(
      ErrorInText(file_->path_, file_->text_, offset, problem, file_->line_));
}

void JsonObject::Require(const std::string& key) const {
  if (Has(key)) return;
  AddProblem(key, absl::StrCat(absl::Utf8SafeCHexEscape(key), " is missing"));
}

template <typename Fits>
const Json* JsonObject::FindFitting(const std::string& key, bool may_be_absent,
                                    const std::string& wanted,
                                    Fits fits) const {
  if (!may_be_absent) Require(key);
  const Json* const value = Find(key);
  if (value == nullptr || fits(*value)) return value;
  // Escapes the key: names in a file may contain control sequences.
  AddProblem(key, absl::StrCat(absl::Utf8SafeCHexEscape(key), " must be ",
                               wanted, ", but is ", Shown(*value)));
  return nullptr;
}

template <typename Fits>
const Json& JsonObject::FindArray(const std::string& key,
                                  const std::string& wanted, Fits fits) const {
  static const auto* const none = new Json(Json::array());
  const Json* const value = FindFitting(
      key, /*may_be_absent=*/false, absl::StrCat("an ", wanted),
      [&](const Json& json) {
        return json.is_array() && std::all_of(json.begin(), json.end(), fits);
      });
  return value == nullptr ? *none : *value;
}

bool JsonObject::Bool(const std::string& key,
                      std::optional<bool> otherwise) const {
  const Json* const value =
      FindFitting(key, otherwise.has_value(), "true or false",
                  [](const Json& json) { return json.is_boolean(); });
  return value == nullptr ? otherwise.value_or(false) : value->get<bool>();
}

std::string JsonObject::Text(const std::string& key) const {
  const Json* const value =
      FindFitting(key, /*may_be_absent=*/false, "a string",
                  [](const Json& json) { return json.is_string(); });
  return value == nullptr ? "" : value->get<std::string>();
}

std::optional<JsonObject> JsonObject::Object(const std::string& key) const {
  const Json* const value =
      FindFitting(key, /*may_be_absent=*/true, "an object",
                  [](const Json& json) { return json.is_object(); });
  if (value == nullptr) return std::nullopt;
  return JsonObject(file_, value);
}

int64_t JsonObject::Integer(const std::string& key,
                            std::optional<int64_t> otherwise, int64_t min,
                            int64_t max) const {
  const Json* const value = FindFitting(
      key, otherwise.has_value(),
      absl::StrCat("an integer from ", min, " to ", max),
      [&](const Json& json) {
        // Beyond the range of int64, get<int64_t>() wraps around.
        return json.is_number_integer() &&
               (json.get<int64_t>() >= 0) == (json.get<double>() >= 0) &&
               json.get<int64_t>() >= min && json.get<int64_t>() <= max;
      });
  return value == nullptr ? otherwise.value_or(min) : value->get<int64_t>();
}

double JsonObject::Real(const std::string& key, double otherwise, double min,
                        double max) const {
  const Json* const value = FindFitting(
      key, /*may_be_absent=*/true,
      std::isinf(min) ? "a number"
                      : absl::StrCat("a number from ", min, " to ", max),
      [&](const Json& json) {
        return json.is_number() && json.get<double>() >= min &&
               json.get<double>() <= max;
      });
  return value == nullptr ? otherwise : value->get<double>();
}

std::map<std::string, std::string> JsonObject::Texts(
    const std::string& key) const {
  std::map<std::string, std::string> texts;
  const std::optional<JsonObject> object = Object(key);
  if (!object.has_value()) return texts;
  for (const auto& [name, value] : object->json().items()) {
    texts[name] = object->Text(name);
  }
  return texts;
}

std::map<std::string, double> JsonObject::Numbers(
    const std::string& key) const {
  std::map<std::string, double> numbers;
  Require(key);
  const std::optional<JsonObject> object = Object(key);
  if (!object.has_value()) return numbers;
  for (const auto& [name, value] : object->json().items()) {
    numbers[name] =
        object->Real(name, std::numeric_limits<double>::quiet_NaN());
  }
  return numbers;
}

std::vector<int64_t> JsonObject::Counts(const std::string& key) const {
  return FindArray(
      key, "array of integers of at least 0", [](const Json& each) {
        return each.is_number_unsigned() && each.get<int64_t>() >= 0;
      });
}

std::vector<std::string> JsonObject::TextList(const std::string& key) const {
  return FindArray(key, "array of strings",
                   [](const Json& each) { return each.is_string(); });
}

std::vector<JsonObject> JsonObject::Objects(const std::string& key) const {
  std::vector<JsonObject> objects;
  for (const Json& each :
       FindArray(key, "array of objects",
                 [](const Json& json) { return json.is_object(); })) {
    objects.push_back({file_, &each});
  }
  return objects;
}

const Json& JsonObject::Array(const std::string& key) const {
  return FindArray(key, "array", [](const Json&) { return true; });
}

size_t JsonObject::Choice(const std::string& key,
                          absl::Span<const absl::string_view> choices,
                          std::optional<size_t> otherwise) const {
  size_t choice = 0;
  const Json* const value = FindFitting(
      key, otherwise.has_value(),
      absl::StrCat("one of ", absl::StrJoin(choices, ", ")),
      [&](const Json& json) {
        while (choice < choices.size() && json != Json(choices[choice])) {
          ++choice;
        }
        return choice < choices.size();
      });
  return value == nullptr ? otherwise.value_or(0) : choice;
}

}  // namespace regard
