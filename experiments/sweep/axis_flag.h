// The flag --axis PATH=V1,V2,... of a sweep.
#ifndef EXPERIMENTS_SWEEP_AXIS_FLAG_H_
#define EXPERIMENTS_SWEEP_AXIS_FLAG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace regard {

class SweepAxis;

// Reads "PATH=V1,V2,...". Commas within brackets and quotes do not separate
// values. The error is InvalidArgument, names the flag, points at the place and
// is complete to print.
absl::StatusOr<SweepAxis> ParseAxisFlag(const std::string& text);

// `value` as --set wants it for the field at `path` of a message. Where that is
// a message and `value` has no braces, they are added: "dot" becomes
// "{dot {}}", and "dot { scale: false }" becomes "{dot { scale: false }}".
std::string WithBraces(const google::protobuf::Descriptor& message,
                       absl::string_view path, absl::string_view value);

// A value as reports and folders call it: "dot" for "{dot {}}", and "0.1" for
// ".1".
std::string LabelOfValue(absl::string_view value);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_AXIS_FLAG_H_
