// Parses the flag --axis PATH=V1,V2,... of a sweep.
#ifndef EXPERIMENTS_SWEEP_AXIS_FLAG_H_
#define EXPERIMENTS_SWEEP_AXIS_FLAG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace regard {

class SweepAxis;

// Parses "PATH=V1,V2,...". Commas within brackets and quotes do not separate
// values. Returns an InvalidArgument error that can be printed as it is. The
// error names the flag and shows the position of the mistake.
absl::StatusOr<SweepAxis> ParseAxisFlag(const std::string& text);

// Returns `value` in the form that --set requires for the field `path` of
// `message`. Adds braces if the field is a message and `value` has none: "dot"
// becomes "{dot {}}", and "dot { scale: false }" becomes "{dot { scale: false
// }}".
std::string WithBraces(const google::protobuf::Descriptor& message,
                       absl::string_view path, absl::string_view value);

// Returns the name of a value in reports and folders: "dot" for "{dot {}}", and
// "0.1" for ".1".
std::string LabelOfValue(absl::string_view value);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_AXIS_FLAG_H_
