#include "experiments/config/origins.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/config/config_fields.h"
#include "experiments/config/field_names.h"
#include "google/protobuf/descriptor.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::OneofDescriptor;

// The path of the list for an element, of the message around for a field.
std::string Around(const std::string& path) {
  const PathStep last = SplitPath(path).back();
  if (last.index.has_value()) {
    return path.substr(0, last.range.begin + last.name.size());
  }
  return std::string(ParentPath(path));
}

}  // namespace

std::string FieldAssignment::Path() const {
  std::string name = FieldName(*field);
  if (index.has_value()) absl::StrAppend(&name, "[", *index, "]");
  return JoinFieldPath(parent, name);
}

void ConfigOrigins::Add(ConfigText text) {
  if (!text.is_override()) main_ = texts_.size();
  texts_.push_back(std::move(text));
}

void ConfigOrigins::Note(const FieldAssignment& assignment) {
  const FieldDescriptor* field = assignment.field;
  const std::string path = assignment.Path();
  if (assignment.is_list()) Forget(path);
  if (const OneofDescriptor* oneof = field->real_containing_oneof()) {
    for (int i = 0; i < oneof->field_count(); ++i) {
      if (oneof->field(i) == field) continue;
      Forget(JoinFieldPath(assignment.parent, oneof->field(i)->name()));
    }
  }
  places_[path] = {texts_.size() - 1, assignment.range};
}

void ConfigOrigins::Forget(const std::string& path) {
  places_.erase(path);
  for (const char* next : {".", "["}) {
    const std::string prefix = path + next;
    auto place = places_.lower_bound(prefix);
    while (place != places_.end() && absl::StartsWith(place->first, prefix)) {
      place = places_.erase(place);
    }
  }
}

std::optional<std::string> ConfigOrigins::Find(absl::string_view path) const {
  const auto place = places_.find(std::string(path));
  if (place == places_.end()) return std::nullopt;
  return texts_[place->second.text].Origin(place->second.range.begin);
}

ConfigOrigins::Place ConfigOrigins::PlaceOf(absl::string_view path) const {
  REGARD_CHECK(!texts_.empty()) << "a config comes from at least one text";
  for (std::string around(path); !around.empty(); around = Around(around)) {
    const auto found = places_.find(around);
    if (found != places_.end()) return found->second;
  }
  return {main_, {0, 1}};
}

std::string ConfigOrigins::Where(absl::string_view path) const {
  const Place place = PlaceOf(path);
  return texts_[place.text].Where(place.range.begin);
}

std::string ConfigOrigins::Diagnostic(absl::string_view path,
                                      absl::string_view message) const {
  const Place place = PlaceOf(path);
  return texts_[place.text].Diagnostic(
      {place.range, absl::StrCat(path, path.empty() ? "" : ": ", message)});
}

absl::Status LocateProblems(const ConfigProblems& problems,
                            const ConfigOrigins& origins) {
  if (problems.ok()) return absl::OkStatus();
  std::vector<std::string> lines;
  for (const ConfigProblems::Problem& problem : problems.problems()) {
    if (lines.size() == kMostProblems) {
      lines.push_back(absl::StrCat(problems.problems().size() - kMostProblems,
                                   " more problems are not shown"));
      break;
    }
    lines.push_back(origins.Diagnostic(problem.path, problem.message));
  }
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

}  // namespace regard
