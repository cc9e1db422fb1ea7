// Text of unknown origin made safe to show, on a terminal and in a page.
#ifndef FILES_PRINTABLE_TEXT_H_
#define FILES_PRINTABLE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace regard {

// `text` without what a terminal would obey or a reader would not see: control
// characters (newline and tab become spaces) and marks that turn the direction
// of writing. Bytes that are not UTF-8 become U+FFFD.
std::string PrintableText(absl::string_view text);

// `text` as the content of an element or of a quoted attribute, cleaned
// likewise; newlines and tabs stay.
std::string EscapeHtml(absl::string_view text);

// Columns that `text`, printable, takes on a terminal: 2 for a wide character,
// 0 for a combining one.
int DisplayWidth(absl::string_view text);

// `text`, printable, cut to at most `width` columns, the last one an ellipsis
// where something was cut; `width` >= 1. `ellipsis` takes one column.
std::string CutToWidth(absl::string_view text, int width,
                       absl::string_view ellipsis);

}  // namespace regard

#endif  // FILES_PRINTABLE_TEXT_H_
