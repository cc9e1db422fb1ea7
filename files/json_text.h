// Numbers and strings as JSON text, the same bytes on every machine.
#ifndef FILES_JSON_TEXT_H_
#define FILES_JSON_TEXT_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace regard {

// The shortest decimal that reads back as the same double; `null` for NaN and
// the infinities, which JSON lacks.
std::string JsonNumber(double value);

// Quoted and escaped; bytes that are not UTF-8 become U+FFFD.
std::string JsonString(absl::string_view text);

// {"name": number, ...} on one line, in the order of names, without spaces.
std::string JsonNumbers(const std::map<std::string, double>& numbers);

}  // namespace regard

#endif  // FILES_JSON_TEXT_H_
