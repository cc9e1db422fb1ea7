#include "files/json_file.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "files/file.h"

namespace regard {

namespace {

using Json = nlohmann::json;

// Goes through valid JSON: `on_string` gets each string's depth of brackets and
// its bytes without quotes, `on_bracket` the depth inside of each bracket that
// opens. Either ends it by returning false.
template <typename OnString, typename OnBracket>
void Scan(absl::string_view text, const OnString& on_string,
          const OnBracket& on_bracket) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '{') {
      if (!on_bracket(++depth)) return;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == '"') {
      const size_t begin = ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      if (i >= text.size()) return;
      if (!on_string(depth, begin, text.substr(begin, i - begin))) return;
    }
  }
}

// Whether brackets stand in each other deeper than any model needs; what reads
// and prints JSON calls itself for each.
bool IsTooDeep(absl::string_view text) {
  constexpr int kMostDepth = 100;
  bool too_deep = false;
  Scan(
      text, [](int, size_t, absl::string_view) { return true; },
      [&](int depth) {
        too_deep = depth > kMostDepth;
        return !too_deep;
      });
  return too_deep;
}

// The offset of the value of a field of the object that `text` begins with;
// nothing for a key that is written with escapes.
std::optional<size_t> FindValue(absl::string_view text, absl::string_view key) {
  std::optional<size_t> found;
  Scan(
      text,
      [&](int depth, size_t begin, absl::string_view bytes) {
        if (depth == 0) return false;
        if (depth > 1 || bytes != key) return true;
        const auto is_space = [&](size_t i) {
          return i < text.size() &&
                 absl::ascii_isspace(static_cast<unsigned char>(text[i]));
        };
        size_t i = begin + bytes.size() + 1;
        while (is_space(i)) ++i;
        if (i >= text.size() || text[i] != ':') return true;
        ++i;
        while (is_space(i)) ++i;
        found = i;
        return false;
      },
      [](int) { return true; });
  return found;
}

// Finds where text stops being JSON.
class ErrorFinder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    // Bytes that were read, the offending one included.
    offset_ = position > 0 ? position - 1 : 0;
    return false;
  }

  size_t offset() const { return offset_; }

 private:
  size_t offset_ = 0;
};

std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                Json::error_handler_t::replace);
  constexpr size_t kMost = 40;
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

}  // namespace

absl::StatusOr<JsonFile> JsonFile::Parse(absl::string_view text,
                                         absl::string_view path) {
  JsonFile file(text, path);
  const auto error = [&](size_t offset, absl::string_view problem) {
    return absl::InvalidArgumentError(ErrorInText(path, text, offset, problem));
  };
  if (IsTooDeep(text)) return error(0, "more than 100 brackets in each other");
  ErrorFinder finder;
  if (!Json::sax_parse(text.begin(), text.end(), &finder)) {
    return error(finder.offset(), finder.offset() >= text.size()
                                      ? "not JSON: the text ends too soon"
                                      : "not JSON from here on");
  }
  file.json_ = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                           /*allow_exceptions=*/false);
  if (!file.json_.is_object()) return error(0, "not a JSON object");
  return file;
}

JsonObject JsonFile::root() { return {this, &json_, text_.find('{')}; }

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
  const absl::string_view text = absl::string_view(file_->text_).substr(begin_);
  file_->problems_.push_back(
      ErrorInText(file_->path_, file_->text_,
                  begin_ + FindValue(text, key).value_or(0), problem));
}

void JsonObject::ComplainOfValue(const char* key,
                                 absl::string_view wanted) const {
  Complain(key, absl::StrCat(key, " must be ", wanted, ", but is ",
                             Shown(*Find(key))));
}

std::optional<bool> JsonObject::Bool(const char* key) const {
  const Json* const value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  ComplainOfValue(key, "true or false");
  return std::nullopt;
}

std::optional<std::string> JsonObject::Text(const char* key) const {
  const Json* const value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  ComplainOfValue(key, "a string");
  return std::nullopt;
}

std::optional<JsonObject> JsonObject::Object(const char* key) const {
  const Json* const value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) {
    const absl::string_view text =
        absl::string_view(file_->text_).substr(begin_);
    return JsonObject(file_, value, begin_ + FindValue(text, key).value_or(0));
  }
  ComplainOfValue(key, "an object");
  return std::nullopt;
}

int64_t JsonObject::Integer(const char* key, std::optional<int64_t> otherwise,
                            int64_t min, int64_t max) const {
  const Json* const value = Find(key);
  if (value == nullptr) {
    if (!otherwise.has_value()) Complain(key, absl::StrCat(key, " is missing"));
    return otherwise.value_or(1);
  }
  // Integers beyond int64 compare as doubles.
  if (value->is_number_integer() &&
      value->get<double>() >= static_cast<double>(min) &&
      value->get<double>() <= static_cast<double>(max)) {
    return value->get<int64_t>();
  }
  ComplainOfValue(key, absl::StrCat("an integer from ", min, " to ", max));
  return otherwise.value_or(1);
}

double JsonObject::Real(const char* key, double otherwise, double min,
                        double max) const {
  const Json* const value = Find(key);
  if (value == nullptr) return otherwise;
  if (value->is_number() && value->get<double>() >= min &&
      value->get<double>() <= max) {
    return value->get<double>();
  }
  ComplainOfValue(key, absl::StrCat("a number from ", min, " to ", max));
  return otherwise;
}

size_t JsonObject::Choice(const char* key,
                          const std::vector<std::string>& choices) const {
  const Json* const value = Find(key);
  if (value == nullptr) return 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (value->is_string() && value->get<std::string>() == choices[i]) {
      return i;
    }
  }
  ComplainOfValue(key, absl::StrCat("one of ", absl::StrJoin(choices, ", ")));
  return 0;
}

std::optional<std::string> JsonObject::Token(const char* key) const {
  const Json* const value = Find(key);
  if (value != nullptr && value->is_object()) {
    return Object(key)->Text("content");
  }
  return Text(key);
}

}  // namespace regard
