#include "experiments/config/field_names.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/config/config_text.h"
#include "experiments/config/nearest_name.h"

namespace regard {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::OneofDescriptor;

constexpr int kQuotedCharacters = 40;

// Of any field or extension. Protobuf's search for an extension takes time that
// is quadratic in the dots of the name: minutes for one of a megabyte.
constexpr size_t kLongestName = 256;

}  // namespace

const FieldDescriptor* FindField(const Descriptor& message,
                                 absl::string_view name) {
  if (name.size() > kLongestName) return nullptr;
  if (name.empty() || name[0] != '[') {
    return message.FindFieldByName(std::string(name));
  }
  if (name.size() < 2) return nullptr;
  return message.file()->pool()->FindExtensionByPrintableName(
      &message, std::string(name.substr(1, name.size() - 2)));
}

std::string NoSuchField(const Descriptor& message, absl::string_view name) {
  const std::string shown = Printable(name, kQuotedCharacters);
  if (message.IsReservedName(std::string(name))) {
    return absl::StrCat("'", shown, "' is no longer a field of ",
                        message.name());
  }
  std::vector<std::string> candidates;
  if (const OneofDescriptor* oneof =
          message.FindOneofByName(std::string(name))) {
    for (int i = 0; i < oneof->field_count(); ++i) {
      candidates.push_back(oneof->field(i)->name());
    }
    return absl::StrCat("'", shown, "' is a choice, not a field; write one of ",
                        absl::StrJoin(candidates, ", "));
  }
  if (!name.empty() && name[0] == '[') {
    std::vector<const FieldDescriptor*> extensions;
    message.file()->pool()->FindAllExtensions(&message, &extensions);
    for (const FieldDescriptor* extension : extensions) {
      candidates.push_back(absl::StrCat("[", extension->full_name(), "]"));
    }
    std::sort(candidates.begin(), candidates.end());
    return absl::StrCat("no extension '", shown, "' of ", message.name(),
                        " is linked in", SuggestName(name, candidates));
  }
  for (int i = 0; i < message.field_count(); ++i) {
    candidates.push_back(message.field(i)->name());
  }
  return absl::StrCat("no field '", shown, "' in ", message.name(),
                      SuggestName(name, candidates));
}

std::string JoinFieldPath(absl::string_view parent, absl::string_view name) {
  return absl::StrCat(parent, parent.empty() || name.empty() ? "" : ".", name);
}

}  // namespace regard
