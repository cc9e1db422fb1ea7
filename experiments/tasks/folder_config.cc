#include "experiments/tasks/folder_config.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "experiments/experiment.pb.h"
#include "files/file.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "options/config_problems.h"
#include "options/config_text.h"
#include "options/resolved.h"
#include "pretrained/pretrained_folder.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Returns the name of the member that is set in the only oneof of `message`, or
// "" if none is set.
std::string Chosen(const google::protobuf::Message& message) {
  const google::protobuf::FieldDescriptor* const member =
      message.GetReflection()->GetOneofFieldDescriptor(
          message, message.GetDescriptor()->oneof_decl(0));
  return member == nullptr ? "" : std::string(member->name());
}

}  // namespace

absl::Status MergeOverFolderConfig(const AttentionRegistry& scorers,
                                   Experiment* config, ConfigOrigins* origins) {
  const std::string run = config->training().initial_weights().run();
  const std::string path = ResolveUserPath(run);
  if (run.empty() || !ContainsPretrainedModel(path)) return absl::OkStatus();
  ConfigProblems problems;
  const absl::StatusOr<PretrainedRun> folder = ReadPretrainedRun(path, scorers);
  const absl::StatusOr<std::string> under =
      folder.ok()
          ? folder->BaseConfig(Chosen(config->data()), Chosen(config->model()))
          : folder.status();
  if (IsMachineFailure(under.status())) return under.status();
  if (!under.ok()) {
    problems.Add(
        "training.initial_weights.run",
        std::string(absl::StripPrefix(under.status().message(), "error: ")));
    return LocateProblems(problems, *origins);
  }
  const ConfigOrigins given = std::exchange(*origins, ConfigOrigins());
  config->Clear();
  REGARD_RETURN_IF_ERROR(ReadText(
      ConfigTextWithOrigin::File(absl::StrCat(run, ", as a config"), *under),
      config, origins));
  const auto theirs = ConfigSettings(*config);
  for (const ConfigTextWithOrigin& text : given.texts()) {
    REGARD_RETURN_IF_ERROR(ReadText(text, config, origins));
  }
  config->clear_base();
  origins->RemoveOrigins(kBaseField);
  const auto ours = ConfigSettings(*config);
  for (const auto& [field, file] : folder->fixed) {
    const auto there = theirs.find(field);
    if (there == theirs.end()) continue;
    const auto here = ours.find(field);
    if (here == ours.end()) {
      problems.Add(field, absl::StrCat("must match ", file,
                                       ", but the config or its base sets "
                                       "another model; remove that model"));
      break;  // the other fields of this model are unset
    }
    if (here->second == there->second) continue;
    problems.Add(field, absl::StrCat("must match ", file,
                                     ", with which the weights were trained"));
  }
  return LocateProblems(problems, *origins);
}

}  // namespace regard
