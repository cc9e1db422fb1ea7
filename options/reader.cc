#include "options/reader.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "files/file.h"
#include "options/config_fields.h"
#include "options/config_options.pb.h"
#include "third_party/abseil_backport/check.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::OneofDescriptor;

class BasesReader {
 public:
  BasesReader(Message* config, ConfigOrigins* origins)
      : config_(*config), origins_(*origins) {}

  absl::Status ReadFile(const std::string& name) {
    absl::StatusOr<ConfigTextWithOrigin> text = Open(name);
    if (text.ok()) return Read(*std::move(text));
    return absl::Status(IsMachineFailure(text.status())
                            ? text.status().code()
                            : absl::StatusCode::kInvalidArgument,
                        absl::StrCat(Printable(name, kNameCharacters),
                                     ": error: ", text.status().message()));
  }

  // First reads the text separately, to find its problems and its base. Then
  // reads the base and merges the text into it.
  absl::Status Read(ConfigTextWithOrigin text) {
    const std::unique_ptr<Message> alone(config_.New());
    ConfigOrigins origins;
    REGARD_RETURN_IF_ERROR(ReadText(text, alone.get(), &origins));
    if (const FieldDescriptor* field =
            alone->GetDescriptor()->FindFieldByName(kBaseField)) {
      REGARD_RETURN_IF_ERROR(
          ReadBase(text.name(),
                   alone->GetReflection()->GetString(*alone, field), origins));
    }
    return ReadText(std::move(text), &config_, &origins_);
  }

 private:
  // Opens a file. The error message gives the reason, without the file name.
  absl::StatusOr<ConfigTextWithOrigin> Open(const std::string& name) {
    const std::string path = ResolveUserPath(name);
    absl::StatusOr<std::string> text = regard::ReadFile(path, kMaxConfigBytes);
    if (!text.ok()) {
      return absl::Status(
          text.status().code(),
          absl::StripPrefix(text.status().message(), absl::StrCat(path, ": ")));
    }
    const auto is_same = [&path](const std::string& other) {
      std::error_code error;
      return std::filesystem::equivalent(path, ResolveUserPath(other), error);
    };
    const auto same = std::find_if(names_.begin(), names_.end(), is_same);
    const std::string cycle = absl::StrJoin(same, names_.end(), " -> ");
    names_.push_back(name);
    if (cycle.empty()) {
      return ConfigTextWithOrigin::File(name, *std::move(text));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "forms a cycle: ", Printable(cycle, kMaxBases * kNameCharacters),
        " -> ", Printable(name, kNameCharacters)));
  }

  // Reads `base`, the base of the file `name`, unless it is empty. `origins`
  // has the position of the field `base`.
  absl::Status ReadBase(const std::string& name, const std::string& base,
                        const ConfigOrigins& origins) {
    if (base.empty()) return absl::OkStatus();
    const auto error = [&origins](std::string message) {
      return absl::InvalidArgumentError(
          origins.Diagnostic(kBaseField, std::move(message)));
    };
    // If no file is open, the text is embedded in the program.
    if (names_.empty()) return error("an embedded config cannot have a base");
    absl::StatusOr<ConfigTextWithOrigin> opened =
        names_.size() > kMaxBases
            ? absl::InvalidArgumentError(absl::StrCat(
                  "exceeds the limit of ", kMaxBases, " nested bases"))
            : Open(std::filesystem::path(name).replace_filename(base));
    if (opened.ok()) return Read(*std::move(opened));
    return error(absl::StrCat("base '", Printable(base, kNameCharacters), "' ",
                              opened.status().message()));
  }

  Message& config_;
  ConfigOrigins& origins_;
  // The files that are being read. Each file is the base of the file before it.
  std::vector<std::string> names_;
};

absl::Status RequireFields(const Message& config,
                           const ConfigOrigins& origins) {
  if (config.IsInitialized()) return absl::OkStatus();
  std::vector<std::string> missing;
  config.FindInitializationErrors(&missing);
  ConfigProblems problems;
  for (const std::string& path : missing) {
    // Protobuf writes extensions in parentheses.
    problems.Add(absl::StrReplaceAll(path, {{"(", "["}, {")", "]"}}),
                 "must be set");
  }
  return LocateProblems(problems, origins);
}

}  // namespace

bool AssignedField::replaces() const {
  return is_list() || (!index.has_value() &&
                       field->options().GetExtension(regard::replaces));
}

std::string AssignedField::Path() const {
  std::string name = FieldName(*field);
  if (index.has_value()) absl::StrAppend(&name, "[", *index, "]");
  return JoinFieldPath(parent, name);
}

void ConfigOrigins::Add(ConfigTextWithOrigin text) {
  if (!text.is_override()) main_ = texts_.size();
  texts_.push_back(std::move(text));
}

void ConfigOrigins::RecordOrigin(const AssignedField& assignment) {
  const FieldDescriptor* field = assignment.field;
  const std::string path = assignment.Path();
  if (assignment.replaces()) RemoveOrigins(path);
  if (const OneofDescriptor* oneof = field->real_containing_oneof()) {
    for (int i = 0; i < oneof->field_count(); ++i) {
      const FieldDescriptor* other = oneof->field(i);
      if (other == field) continue;
      RemoveOrigins(JoinFieldPath(assignment.parent, other->name()));
    }
  }
  places_[path] = {texts_.size() - 1, assignment.range};
}

void ConfigOrigins::RemoveOrigins(const std::string& path) {
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
  return texts_[place->second.text].OriginWithLine(place->second.range.begin);
}

ConfigOrigins::Place ConfigOrigins::NearestPlace(absl::string_view path) const {
  REGARD_CHECK(!texts_.empty()) << "a config comes from at least one text";
  Place nearest = {main_, {0, 1}};
  // A message precedes its fields, so the last match is the innermost message.
  for (const auto& [field, place] : places_) {
    if (IsWithin(path, field)) nearest = place;
  }
  return nearest;
}

std::string ConfigOrigins::OriginWithColumn(absl::string_view path) const {
  const Place place = NearestPlace(path);
  return texts_[place.text].OriginWithColumn(place.range.begin);
}

std::string ConfigOrigins::Diagnostic(absl::string_view path,
                                      std::string message,
                                      const TextRange& within) const {
  const auto [index, name] = NearestPlace(path);
  const ConfigTextWithOrigin& text = texts_[index];
  return text.Diagnostic(
      {within.length > 0 ? text.RangeInStringValue(name, within) : name,
       std::move(message)});
}

absl::Status LocateProblems(const ConfigProblems& problems,
                            const ConfigOrigins& origins) {
  if (problems.ok()) return absl::OkStatus();
  std::vector<std::string> lines;
  for (const auto& [path, message, within] :
       problems.problems().subspan(0, kMaxProblems)) {
    lines.push_back(origins.Diagnostic(
        path, absl::StrCat(path, path.empty() ? "" : ": ", message), within));
  }
  if (problems.problems().size() > kMaxProblems) {
    lines.push_back(absl::StrCat(problems.problems().size() - kMaxProblems,
                                 " more problems are not shown"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

bool IsRunConfig(const std::string& name) {
  const std::filesystem::path path = ResolveUserPath(name);
  constexpr char kResolved[] = "resolved.textproto";
  if (path.filename() == kResolved) return true;
  return path.filename() == "config.textproto" &&
         PathExists(std::filesystem::path(path).replace_filename(kResolved));
}

absl::Status ApplyOverrides(absl::Span<const ConfigTextWithOrigin> overrides,
                            Message* config, ConfigOrigins* origins) {
  std::vector<std::string> errors;
  for (const ConfigTextWithOrigin& text : overrides) {
    absl::Status status = ReadText(text, config, origins);
    if (status.ok() && origins->Find(kBaseField).has_value()) {
      status = absl::InvalidArgumentError(
          origins->Diagnostic(kBaseField,
                              "an override cannot set `base`; set `base` in a "
                              "file, and give that file as the config"));
      origins->RemoveOrigins(kBaseField);
    }
    if (!status.ok()) errors.emplace_back(status.message());
  }
  if (errors.empty()) return RequireFields(*config, *origins);
  return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
}

absl::StatusOr<ConfigOrigins> ReadConfig(
    const ConfigPathOrText& source, absl::Span<const std::string> overrides,
    Message* config) {
  return ReadConfigWith(source, OverrideTexts(overrides), config);
}

std::vector<ConfigTextWithOrigin> OverrideTexts(
    absl::Span<const std::string> overrides) {
  std::vector<ConfigTextWithOrigin> texts;
  for (const std::string& argument : overrides) {
    texts.push_back(ConfigTextWithOrigin::Override(argument));
  }
  return texts;
}

absl::StatusOr<ConfigOrigins> ReadConfigWith(
    const ConfigPathOrText& source,
    absl::Span<const ConfigTextWithOrigin> overrides, Message* config) {
  config->Clear();
  ConfigOrigins origins;
  BasesReader reader(config, &origins);
  REGARD_RETURN_IF_ERROR(source.embedded.has_value()
                             ? reader.Read(ConfigTextWithOrigin::File(
                                   source.name, *source.embedded))
                             : reader.ReadFile(source.name));
  if (const FieldDescriptor* field =
          config->GetDescriptor()->FindFieldByName(kBaseField)) {
    config->GetReflection()->ClearField(config, field);
    origins.RemoveOrigins(kBaseField);
  }
  REGARD_RETURN_IF_ERROR(ApplyOverrides(overrides, config, &origins));
  return origins;
}

}  // namespace regard
