#include "files/printable_text.h"

#include <utf8proc.h>

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "files/utf8.h"

namespace regard {
namespace {

bool IsHidden(char32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  // Control characters, line and paragraph separators, and the marks of
  // Unicode's bidirectional algorithm.
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP || code == 0x200e || code == 0x200f ||
         code == 0x061c || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string Clean(absl::string_view text, bool keep_white_controls) {
  std::string clean;
  clean.reserve(text.size());
  for (const Character& c : Characters(text)) {
    if (c.code_point == '\n' || c.code_point == '\t') {
      clean += keep_white_controls ? static_cast<char>(c.code_point) : ' ';
    } else if (!IsHidden(c.code_point)) {
      // For bytes that are not UTF-8, the code point is U+FFFD.
      AppendUtf8(c.code_point, &clean);
    }
  }
  return clean;
}

int Width(const Character& c) {
  return std::max(
      utf8proc_charwidth(static_cast<utf8proc_int32_t>(c.code_point)), 0);
}

}  // namespace

std::string PrintableText(absl::string_view text) {
  return Clean(text, /*keep_white_controls=*/false);
}

std::string EscapeHtml(absl::string_view text) {
  return absl::StrReplaceAll(Clean(text, /*keep_white_controls=*/true),
                             {{"&", "&amp;"},
                              {"<", "&lt;"},
                              {">", "&gt;"},
                              {"\"", "&quot;"},
                              {"'", "&#39;"}});
}

int DisplayWidth(absl::string_view text) {
  int width = 0;
  for (const Character& c : Characters(text)) width += Width(c);
  return width;
}

std::string CutToWidth(absl::string_view text, int width,
                       absl::string_view ellipsis) {
  if (DisplayWidth(text) <= width) return std::string(text);
  std::string cut;
  int used = 0;
  for (const Character& c : Characters(text)) {
    used += Width(c);
    if (used > width - 1) break;
    cut.append(c.bytes.data(), c.bytes.size());
  }
  cut.append(ellipsis.data(), ellipsis.size());
  return cut;
}

}  // namespace regard
