#include "data/text/prepared_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "files/utf8.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

bool IsDetachedMark(char32_t c) {
  return c == U',' || c == U'.' || c == U'!' || c == U'?';
}

std::string Composed(const std::string& text) {
  // Most text is ASCII, and composed already.
  const bool is_ascii = std::all_of(text.begin(), text.end(),
                                    [](char c) { return (c & 0x80) == 0; });
  if (is_ascii) return text;
  utf8proc_uint8_t* composed = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &composed,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  REGARD_CHECK_GE(length, 0) << utf8proc_errmsg(length);
  std::string result(reinterpret_cast<const char*>(composed), length);
  std::free(composed);
  return result;
}

}  // namespace

std::string PrepareText(absl::string_view text) {
  std::string prepared;
  prepared.reserve(text.size() + 8);
  bool after_space = true;  // a mark that starts the text gets no space
  for (const Character& character : Characters(text)) {
    char32_t c = character.code_point;
    if (c == U'\u00A0' || c == U'\u202F') c = U' ';
    if (IsDetachedMark(c) && !after_space) prepared.push_back(' ');
    AppendUtf8(static_cast<char32_t>(
                   utf8proc_tolower(static_cast<utf8proc_int32_t>(c))),
               &prepared);
    after_space = c == U' ';
  }
  return Composed(prepared);
}

std::vector<std::string> SplitTokens(absl::string_view text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

}  // namespace regard
