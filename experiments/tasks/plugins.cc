#include "experiments/tasks/plugins.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"

namespace regard {

using ::google::protobuf::Descriptor;
using ::google::protobuf::DescriptorPool;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::OneofDescriptor;

namespace {

constexpr char kOutside[] = "outside";

const OneofDescriptor* DataChoice() {
  return Data::descriptor()->FindOneofByName("data_source");
}

const OneofDescriptor* TaskChoice() {
  return ModelConfig::descriptor()->FindOneofByName("model");
}

// How a config names a plug-in: "phrasebook", "outside.[lab.my_data]".
std::string MemberName(const OneofDescriptor& choice,
                       const google::protobuf::Message& options) {
  const Descriptor* type = options.GetDescriptor();
  for (int i = 0; i < choice.field_count(); ++i) {
    const FieldDescriptor* member = choice.field(i);
    if (member->message_type() == type) return std::string(member->name());
    if (member->name() != kOutside) continue;
    std::vector<const FieldDescriptor*> extensions;
    DescriptorPool::generated_pool()->FindAllExtensions(member->message_type(),
                                                        &extensions);
    for (const FieldDescriptor* extension : extensions) {
      if (extension->message_type() != type) continue;
      return absl::StrCat(kOutside, ".[", std::string(extension->full_name()),
                          "]");
    }
  }
  return std::string(type->full_name());
}

// The names of those plug-ins for which `fits` holds.
template <typename Registry, typename Fits>
std::string Names(const Registry& registry, const OneofDescriptor& choice,
                  Fits fits) {
  std::vector<std::string> names;
  for (const auto& info : registry.plugins()) {
    if (fits(info)) names.push_back(MemberName(choice, *info.default_options));
  }
  std::sort(names.begin(), names.end());
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

void ValidatePath(const Data& config, const DataSourceInfo& source,
                  const DataSourceRegistry& sources, ConfigProblems& problems) {
  const std::string name = MemberName(*DataChoice(), *source.default_options);
  const DataPath path = source.path(*sources.ChosenOptions(config));
  if (config.has_dev_path() && config.dev_path().empty()) {
    problems.Add("dev_path", "names no file");
  }
  if (config.has_path() && config.path().empty()) {
    problems.Add("path", "names no file");
    return;
  }
  if (path == DataPath::kRequired && !config.has_path()) {
    problems.Add("", absl::StrCat("`", name,
                                  "` reads a file: give data.path, in the "
                                  "config or by --set data.path=FILE"));
  }
  if (!source.reads_dev_path && config.has_dev_path()) {
    problems.Add(
        "dev_path",
        absl::StrCat("`", name, "` reads no such file; one is read by: ",
                     Names(sources, *DataChoice(), [](const auto& info) {
                       return info.reads_dev_path;
                     })));
  }
  if (path != DataPath::kNone || !config.has_path()) return;
  const auto reads_a_file = [](const auto& info) {
    const DataPath path = info.path(*info.default_options);
    return path == DataPath::kRequired || path == DataPath::kOptional;
  };
  if (reads_a_file(source)) {
    problems.Add("path", absl::StrCat("`", name,
                                      "` names its files itself: give either "
                                      "them or data.path"));
    return;
  }
  problems.Add("path",
               absl::StrCat("this data is generated; a file is read by: ",
                            Names(sources, *DataChoice(), reads_a_file)));
}

// Members of ModelConfig that no one reads.
void ValidateUnusedParts(const ModelConfig& config, const TaskInfo& task,
                         ConfigProblems& problems) {
  std::vector<const FieldDescriptor*> present;
  config.GetReflection()->ListFields(config, &present);
  for (const FieldDescriptor* field : present) {
    if (field->containing_oneof() == TaskChoice()) continue;
    const std::string name(field->name());
    if (std::find(task.parts.begin(), task.parts.end(), name) ==
        task.parts.end()) {
      problems.Add(
          name,
          absl::StrCat("`", MemberName(*TaskChoice(), *task.default_options),
                       "` has no ", name));
    }
  }
}

void ValidateFit(const DataSourceInfo& source, const TaskInfo& task,
                 const std::string& path, const Plugins& plugins,
                 ConfigProblems& problems) {
  // Names may be equal by chance; a cast of the data would then fail.
  if (*source.data_type == *task.data_type) return;
  const std::string data = MemberName(*DataChoice(), *source.default_options);
  problems.Add(
      path, absl::StrCat(
                "learns from ", task.data, ", but data.", data, " gives ",
                source.data == task.data ? "another type that is called " : "",
                source.data, "; data that fits it: ",
                Names(plugins.data, *DataChoice(),
                      [&](const auto& info) {
                        return *info.data_type == *task.data_type;
                      }),
                "; models that fit ", data, ": ",
                Names(plugins.tasks, *TaskChoice(), [&](const auto& info) {
                  return *info.data_type == *source.data_type;
                })));
}

}  // namespace

void ValidateDataAndModel(const Experiment& config, const Plugins& plugins,
                          ConfigProblems& problems) {
  const TaskInfo* task = plugins.tasks.Find(config.model());
  if (task != nullptr && config.has_search() && !task->searches) {
    problems.Add(
        "search",
        absl::StrCat("`", MemberName(*TaskChoice(), *task->default_options),
                     "` searches for nothing"));
  }
  const DataSourceInfo* source = plugins.data.Find(config.data());
  {
    const ConfigProblems::Scope scope(problems, "data");
    plugins.data.ValidateChoice(config.data(), problems);
    if (source != nullptr) {
      ValidatePath(config.data(), *source, plugins.data, problems);
    }
  }
  const ConfigProblems::Scope scope(problems, "model");
  const TaskContext context{config, plugins.scorers};
  plugins.tasks.ValidateChoice(config.model(), problems, context);
  if (task == nullptr) return;
  ValidateUnusedParts(config.model(), *task, problems);
  task->validate_parts(context, problems);
  if (source == nullptr) return;
  ValidateFit(*source, *task, ChooseOption(config.model(), *TaskChoice()).path,
              plugins, problems);
}

}  // namespace regard
