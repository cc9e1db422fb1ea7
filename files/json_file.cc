#include "files/json_file.h"

#include <sstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/file.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

using Json = nlohmann::json;

// Builds the tree from the parser's events. The library's own builder lets the
// second of two equal keys replace the first, and does not know offsets.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  TreeBuilder(absl::string_view text, JsonOffsets* offsets)
      : text_(text), input_(std::string(text)), offsets_(offsets) {}

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
                   const nlohmann::detail::exception&) override {
    // Bytes that were read, the offending one included.
    const size_t offset = position > 0 ? position - 1 : 0;
    return Fail(offset, offset >= text_.size()
                            ? "not JSON: the text ends too soon"
                            : "not JSON from here on");
  }

 private:
  // Bytes that the parser has read.
  size_t Position() {
    return static_cast<size_t>(
        input_.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in));
  }

  bool Add(Json value) {
    if (open_.empty()) {
      added_ = &(root_ = std::move(value));
    } else if (open_.back()->is_array()) {
      added_ = &open_.back()->emplace_back(std::move(value));
    } else {
      added_ = &((*open_.back())[key_] = std::move(value));
      if (offsets_ != nullptr) (*offsets_)[added_] = value_offset_;
    }
    return true;
  }

  bool Open(Json value) {
    constexpr size_t kMostOpen = 100;
    if (open_.size() == kMostOpen) {
      return Fail(0, "more than 100 brackets in each other");
    }
    Add(std::move(value));
    open_.push_back(added_);
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
  JsonOffsets* offsets_;
  Json root_;
  Json* added_ = nullptr;    // the last one
  std::vector<Json*> open_;  // a child's place is fixed while it is open
  std::string key_;          // the last one
  size_t value_offset_ = 0;  // of its value
  size_t error_offset_ = 0;
  std::string problem_;
};

std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                Json::error_handler_t::replace);
  constexpr size_t kMost = 40;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

}  // namespace

absl::StatusOr<Json> ParseJson(
    absl::string_view text,
    absl::FunctionRef<std::string(size_t, absl::string_view)> error,
    JsonOffsets* offsets) {
  TreeBuilder builder(text, offsets);
  if (builder.Parse()) return std::move(builder.root());
  return absl::InvalidArgumentError(
      error(builder.error_offset(), builder.problem()));
}

std::optional<std::string> FindMisfit(const Json& value, const Json& shape) {
  bool fits = value.type() == shape.type();
  if (shape.type() == Json::value_t::number_integer) {
    fits = value.is_number_integer();
  }
  if (shape.is_number_float()) fits = value.is_number() || value.is_null();
  if (shape.is_null()) return std::nullopt;
  if (!fits) return "";
  if (!value.is_structured()) return std::nullopt;
  const Json& parts = shape.is_object() ? shape : value;
  for (const auto& [key, part] : parts.items()) {
    if (shape.is_object() && !value.contains(key)) {
      return absl::StrCat("/", key);
    }
    const std::optional<std::string> misfit = shape.is_object()
                                                  ? FindMisfit(value[key], part)
                                                  : FindMisfit(part, shape[0]);
    if (misfit.has_value()) return absl::StrCat("/", key, *misfit);
  }
  return std::nullopt;
}

absl::StatusOr<JsonFile> JsonFile::Parse(absl::string_view text,
                                         absl::string_view path) {
  JsonFile file;
  file.text_ = std::string(text);
  file.path_ = std::string(path);
  const auto error = [&](size_t offset, absl::string_view problem) {
    return ErrorInText(path, text, offset, problem);
  };
  REGARD_ASSIGN_OR_RETURN(file.json_, ParseJson(text, error, &file.offsets_));
  if (file.json_.is_object()) return file;
  return absl::InvalidArgumentError(error(0, "not a JSON object"));
}

absl::StatusOr<JsonFile> JsonFile::Read(const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          WithErrorPrefix(ReadFile(path)));
  return Parse(text, path);
}

absl::Status JsonFile::status() const {
  if (problems_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
}

const Json* JsonObject::Find(const char* key) const {
  const auto found = json_->find(key);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

void JsonObject::Complain(absl::string_view key,
                          absl::string_view problem) const {
  const auto value = json_->find(std::string(key));
  const auto offset =
      file_->offsets_.find(value == json_->end() ? json_ : &*value);
  file_->problems_.push_back(ErrorInText(
      file_->path_, file_->text_,
      offset == file_->offsets_.end() ? file_->text_.find('{') : offset->second,
      problem));
}

template <typename Fits>
const Json* JsonObject::FindFitting(const char* key, const std::string& wanted,
                                    Fits fits) const {
  const Json* const value = Find(key);
  if (value == nullptr || fits(*value)) return value;
  Complain(key,
           absl::StrCat(key, " must be ", wanted, ", but is ", Shown(*value)));
  return nullptr;
}

std::optional<bool> JsonObject::Bool(const char* key) const {
  const Json* const value = FindFitting(
      key, "true or false", [](const Json& json) { return json.is_boolean(); });
  if (value == nullptr) return std::nullopt;
  return value->get<bool>();
}

std::optional<std::string> JsonObject::Text(const char* key) const {
  const Json* const value = FindFitting(
      key, "a string", [](const Json& json) { return json.is_string(); });
  if (value == nullptr) return std::nullopt;
  return value->get<std::string>();
}

std::optional<JsonObject> JsonObject::Object(const char* key) const {
  const Json* const value = FindFitting(
      key, "an object", [](const Json& json) { return json.is_object(); });
  if (value == nullptr) return std::nullopt;
  return JsonObject(file_, value);
}

int64_t JsonObject::Integer(const char* key, std::optional<int64_t> otherwise,
                            int64_t min, int64_t max) const {
  if (!otherwise.has_value() && Find(key) == nullptr) {
    Complain(key, absl::StrCat(key, " is missing"));
  }
  // Integers beyond int64 compare as doubles.
  const Json* const value =
      FindFitting(key, absl::StrCat("an integer from ", min, " to ", max),
                  [&](const Json& json) {
                    return json.is_number_integer() &&
                           json.get<double>() >= static_cast<double>(min) &&
                           json.get<double>() <= static_cast<double>(max);
                  });
  return value == nullptr ? otherwise.value_or(1) : value->get<int64_t>();
}

double JsonObject::Real(const char* key, double otherwise, double min,
                        double max) const {
  const Json* const value =
      FindFitting(key, absl::StrCat("a number from ", min, " to ", max),
                  [&](const Json& json) {
                    return json.is_number() && json.get<double>() >= min &&
                           json.get<double>() <= max;
                  });
  return value == nullptr ? otherwise : value->get<double>();
}

size_t JsonObject::Choice(const char* key,
                          const std::vector<std::string>& choices) const {
  size_t choice = 0;
  FindFitting(key, absl::StrCat("one of ", absl::StrJoin(choices, ", ")),
              [&](const Json& json) {
                while (choice < choices.size() && json != choices[choice]) {
                  ++choice;
                }
                return choice < choices.size();
              });
  return choice % choices.size();
}

std::optional<std::string> JsonObject::Token(const char* key) const {
  const Json* const value = Find(key);
  if (value != nullptr && value->is_object()) {
    return Object(key)->Text("content");
  }
  return Text(key);
}

}  // namespace regard
