#include "options/option_registry.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace regard {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::OneofDescriptor;

namespace {

constexpr char kOutside[] = "outside";

}  // namespace

OptionsWithPath FindOptionsInOneof(const Message& config,
                                   const OneofDescriptor& choice) {
  REGARD_CHECK(config.GetDescriptor() == choice.containing_type())
      << std::string(config.GetDescriptor()->full_name()) << " has no oneof "
      << std::string(choice.full_name());
  const FieldDescriptor* member =
      config.GetReflection()->GetOneofFieldDescriptor(config, &choice);
  if (member == nullptr) return {};
  const Message& options = config.GetReflection()->GetMessage(config, member);
  std::string path(member->name());
  if (path != kOutside) return {&options, std::move(path)};
  std::vector<const FieldDescriptor*> extensions;
  options.GetReflection()->ListFields(options, &extensions);
  if (extensions.size() != 1) return {nullptr, std::move(path)};
  return {
      &options.GetReflection()->GetMessage(options, extensions[0]),
      absl::StrCat(path, ".[", std::string(extensions[0]->full_name()), "]")};
}

const OneofDescriptor& OneofNamed(const char* name, const Descriptor& message) {
  const OneofDescriptor* const choice = message.FindOneofByName(name);
  REGARD_CHECK(choice != nullptr)
      << std::string(message.full_name()) << " has no oneof " << name;
  return *choice;
}

std::string TypeName(const Message& options) {
  return std::string(options.GetDescriptor()->full_name());
}

void RefuseUnvalidated(const OneofDescriptor& choice) {
  REGARD_CHECK(false) << "an unvalidated " << std::string(choice.full_name());
  std::abort();
}

void AddOptionProblem(const OptionsWithPath& chosen,
                      const OneofDescriptor& choice, absl::string_view example,
                      absl::Span<const std::string> known,
                      ConfigProblems& problems) {
  const std::string name(choice.name());
  const std::string kind = absl::StrReplaceAll(name, {{"_", " "}});
  if (chosen.options != nullptr) {
    problems.Add(chosen.path,
                 absl::StrCat(TypeName(*chosen.options),
                              " is not linked into this program, which has ",
                              absl::StrJoin(known, ", ")));
  } else if (chosen.path == kOutside) {
    problems.Add(chosen.path,
                 absl::StrCat("`outside` must have exactly one ", kind,
                              ", as in outside { [lab.my_", name, "] {} }"));
  } else {
    problems.Add("",
                 absl::StrCat("has no ", kind, "; set one, such as ", example));
  }
}

}  // namespace regard
