#include "files/json_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace regard {

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> text;
  const std::to_chars_result end =
      std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end.ptr);
}

std::string JsonString(absl::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string JsonNumbers(const std::map<std::string, double>& numbers) {
  std::string text = "{";
  const char* comma = "";
  for (const auto& [name, value] : numbers) {
    absl::StrAppend(&text, comma, JsonString(name), ":", JsonNumber(value));
    comma = ",";
  }
  return text + "}";
}

}  // namespace regard
