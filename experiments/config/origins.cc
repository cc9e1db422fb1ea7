#include "experiments/config/origins.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/config/fields.h"
#include "google/protobuf/descriptor.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::OneofDescriptor;

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
  Place nearest = {main_, {0, 1}};
  // A message comes before what is in it.
  for (const auto& [field, place] : places_) {
    if (IsWithin(path, field)) nearest = place;
  }
  return nearest;
}

std::string ConfigOrigins::Where(absl::string_view path) const {
  const Place place = PlaceOf(path);
  return texts_[place.text].Where(place.range.begin);
}

std::string ConfigOrigins::Diagnostic(absl::string_view path,
                                      std::string message) const {
  const Place place = PlaceOf(path);
  return texts_[place.text].Diagnostic({place.range, std::move(message)});
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
    const char* colon = problem.path.empty() ? "" : ": ";
    lines.push_back(origins.Diagnostic(
        problem.path, absl::StrCat(problem.path, colon, problem.message)));
  }
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

}  // namespace regard
