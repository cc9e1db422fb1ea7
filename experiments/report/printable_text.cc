#include "experiments/report/printable_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_replace.h"

namespace regard {
namespace {

struct Character {
  int32_t code = -1;        // -1 where the bytes are not UTF-8
  absl::string_view bytes;  // at least one
};

Character Next(absl::string_view text) {
  utf8proc_int32_t code = -1;
  const utf8proc_ssize_t size =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (size < 1) return {-1, text.substr(0, 1)};
  return {code, text.substr(0, static_cast<size_t>(size))};
}

bool IsWhiteControl(int32_t code) { return code == '\n' || code == '\t'; }

bool IsHidden(int32_t code) {
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_CC:  // controls
    case UTF8PROC_CATEGORY_ZL:  // line and paragraph separators
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      break;
  }
  // The marks of Unicode's bidirectional algorithm.
  return code == 0x200e || code == 0x200f || code == 0x061c ||
         (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string Clean(absl::string_view text, bool keep_white_controls) {
  constexpr absl::string_view kReplacement = "\uFFFD";
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const Character c = Next(text);
    text.remove_prefix(c.bytes.size());
    if (c.code < 0) {
      clean.append(kReplacement.data(), kReplacement.size());
    } else if (IsWhiteControl(c.code)) {
      clean += keep_white_controls ? static_cast<char>(c.code) : ' ';
    } else if (!IsHidden(c.code)) {
      clean.append(c.bytes.data(), c.bytes.size());
    }
  }
  return clean;
}

int Width(const Character& c) {
  return c.code < 0 ? 1 : std::max(utf8proc_charwidth(c.code), 0);
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
  while (!text.empty()) {
    const Character c = Next(text);
    text.remove_prefix(c.bytes.size());
    width += Width(c);
  }
  return width;
}

std::string CutToWidth(absl::string_view text, int width,
                       absl::string_view ellipsis) {
  if (DisplayWidth(text) <= width) return std::string(text);
  std::string cut;
  int used = 0;
  while (!text.empty()) {
    const Character c = Next(text);
    text.remove_prefix(c.bytes.size());
    used += Width(c);
    if (used > width - 1) break;
    cut.append(c.bytes.data(), c.bytes.size());
  }
  cut.append(ellipsis.data(), ellipsis.size());
  return cut;
}

}  // namespace regard
