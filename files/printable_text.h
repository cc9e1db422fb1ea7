// Makes text of unknown origin safe to show, on a terminal and in a page.
#ifndef FILES_PRINTABLE_TEXT_H_
#define FILES_PRINTABLE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace regard {

// Returns `text` without control characters and without marks that change the
// direction of writing. Newlines and tabs become spaces. Bytes that are not
// UTF-8 become U+FFFD.
std::string PrintableText(absl::string_view text);

// Returns `text` as the content of an HTML element or of a quoted attribute.
// Removes or replaces the same characters as PrintableText(), except newlines
// and tabs.
std::string EscapeHtml(absl::string_view text);

// Returns the number of columns of a printable `text` on a terminal: 2 for a
// wide character, and 0 for a combining character.
int DisplayWidth(absl::string_view text);

// Returns a printable `text`, truncated to at most `width` >= 1 columns. The
// last column of a truncated text is `ellipsis`, which must take one column.
std::string CutToWidth(absl::string_view text, int width,
                       absl::string_view ellipsis);

}  // namespace regard

#endif  // FILES_PRINTABLE_TEXT_H_
