// A registry of plug-ins of one kind, such as scoring functions, optimizers or
// schedules. A config chooses a plug-in by a member of a oneof. The message of
// this member has the options of the plug-in.
//
//   oneof schedule {
//     ConstantSchedule constant = 1;
//     OutsideSchedule outside = 15;  // extensions 1000 to max
//   }
//
// The member `outside` is optional. It is a message with open proto2
// extensions. It must have exactly one extension, the options of a plug-in from
// another repository: `outside { [lab.my_schedule] { rate: 2 } }`.
//
// A kind has an interface, information about each plug-in, and a registry:
//
//   class Schedule {
//    public:
//     virtual ~Schedule() = default;
//     virtual double Factor(int64_t update) const = 0;
//     // A plug-in with limits other than (range) declares its own Validate(),
//     // which must also call CheckRanges().
//     static void Validate(const auto& options, ConfigProblems& problems) {
//       problems.CheckRanges(options);
//     }
//   };
//
//   struct ScheduleInfo : PluginInfo<> {
//     PluginFactory<Schedule> create;
//   };
//
//   class ScheduleRegistry
//       : public PluginRegistry<ScheduleConfig, ScheduleInfo> {
//    public:
//     ScheduleRegistry() : PluginRegistry("schedule", "constant {}") {}
//   };
//
// A plug-in is a class with a constructor from its options, and one line:
// `REGARD_PLUGIN(ScheduleRegistry, Constant, "1")`.
//
//   class Constant : public Schedule {
//    public:
//     using Options = ConstantSchedule;
//     explicit Constant(const Options&) {}
//     double Factor(int64_t) const override { return 1; }
//   };
//
// A plug-in's own Validate() hides the interface's Validate(). If its signature
// is wrong, the plug-in does not compile.
#ifndef OPTIONS_OPTION_REGISTRY_H_
#define OPTIONS_OPTION_REGISTRY_H_

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/check.h"

namespace google::protobuf {
class Descriptor;
class Message;
class OneofDescriptor;
}  // namespace google::protobuf

namespace regard {

// Information about one plug-in. Context is additional data for the validation
// of options, such as the widths of a layer.
template <typename... Context>
struct PluginInfo {
  using Validator = void (*)(const google::protobuf::Message& options,
                             const Context&... context,
                             ConfigProblems& problems);

  std::string name;         // type of the options: "regard.DotScore"
  std::string description;  // one line, such as "q . k"
  const google::protobuf::Message* default_options;
  // Adds the problems of `options`. Paths are relative to `options`.
  Validator validate;
};

// Creates an Interface from the options of the plug-in.
template <typename Interface, typename... Args>
using PluginFactory = std::unique_ptr<Interface> (*)(
    const google::protobuf::Message& options, Args... args);

template <typename Plugin, typename... Context>
concept ValidatesOptions = requires(const typename Plugin::Options& options,
                                    const Context&... context,
                                    ConfigProblems& problems) {
  Plugin::Validate(options, context..., problems);
};  // NOLINT(readability/braces)

// Information about a plug-in that is a class template. Factory<T> is an
// PluginFactory.
template <template <typename> class Factory, typename... Context>
struct TemplatePluginInfo : PluginInfo<Context...> {
  Factory<float> create_float;
  Factory<double> create_double;
};

struct OptionsWithPath {
  // Null if the oneof is unset, or if `outside` does not have exactly one
  // extension.
  const google::protobuf::Message* options = nullptr;
  // The path from the config to the options: "dot" or "outside.[lab.my_score]".
  // If `options` is null, the path is "outside" or "".
  std::string path;
};

OptionsWithPath FindOptionsInOneof(
    const google::protobuf::Message& config,
    const google::protobuf::OneofDescriptor& choice);

// Returns the oneof `name` of a message. Fails a check if it does not exist.
const google::protobuf::OneofDescriptor& OneofNamed(
    const char* name, const google::protobuf::Descriptor& message);

// Returns the full name of the message type: "regard.DotScore".
std::string TypeName(const google::protobuf::Message& options);

// Ends the program, because a config was used before it was validated.
[[noreturn]] void RefuseUnvalidated(
    const google::protobuf::OneofDescriptor& choice);

// Adds the problem that `chosen` is not a plug-in in `known`.
void AddOptionProblem(const OptionsWithPath& chosen,
                      const google::protobuf::OneofDescriptor& choice,
                      absl::string_view example,
                      absl::Span<const std::string> known,
                      ConfigProblems& problems);

// The registry of one kind of plug-in. A oneof of Config chooses the plug-in.
// Info derives from PluginInfo. If plug-ins are classes, Info has a factory
// `create`. If plug-ins are class templates, Info is a TemplatePluginInfo.
// Info::Describe<Plugin>() reads additional information from the class.
// Registries are never global: main() registers built-in and user plug-ins and
// passes registries as arguments.
template <typename Config, typename Info>
class PluginRegistry {
 public:
  using Message = google::protobuf::Message;

  // `choice` is the name of the oneof. `example` is a valid choice, for the
  // error message if the choice is missing. If `fallback` is not null, the
  // choice is optional, and the default is the plug-in of this message.
  PluginRegistry(const char* choice, std::string example,
                 const Message* fallback = nullptr)
      : choice_(OneofNamed(choice, *Config::descriptor())),
        example_(std::move(example)),
        fallback_(fallback) {}

  template <typename Plugin>
  void Add(absl::string_view description) {
    Info info = InfoOf<Plugin>(description);
    FillInFactory<Plugin>(&info.create);
    Insert(std::move(info));
  }
  template <template <typename> class Plugin>
  void Add(absl::string_view description) {
    Info info = InfoOf<Plugin<float>>(description);
    FillInFactory<Plugin<float>>(&info.create_float);
    FillInFactory<Plugin<double>>(&info.create_double);
    Insert(std::move(info));
  }

  // All plug-ins, sorted by name.
  absl::Span<const Info> plugins() const { return plugins_; }

  // Returns the chosen options, or null if the choice of `config` is not valid.
  const Message* ChosenOptions(const Config& config) const {
    return FindOptionsWithPath(config).options;
  }

  // Returns the plug-in that `config` chose, or null if it is not registered.
  const Info* Find(const Config& config) const {
    return FindByOptions(FindOptionsWithPath(config).options);
  }

  // Adds the problems of the choice and of the chosen options. Paths are
  // relative to `config`.
  template <typename... Context>
  void ValidateChoice(const Config& config, ConfigProblems& problems,
                      const Context&... context) const {
    const OptionsWithPath chosen = FindOptionsWithPath(config);
    const Info* info = FindByOptions(chosen.options);
    if (info == nullptr) {
      std::vector<std::string> known;
      for (const Info& plugin : plugins_) known.push_back(plugin.name);
      AddOptionProblem(chosen, choice_, example_, known, problems);
      return;
    }
    const ConfigProblems::Scope scope(problems, chosen.path);
    info->validate(*chosen.options, context..., problems);
  }

  // Creates the plug-in that `config` chose. `config` must be valid.
  template <typename... Args>
  auto Create(const Config& config, Args&&... args) const
      requires(requires(Info info) { info.create; }) {
    const auto& [info, options] = ValidChoice(config);
    return info.create(options, std::forward<Args>(args)...);
  }
  template <typename T, typename... Args>
  auto Create(const Config& config, Args&&... args) const
      requires(requires(Info info) { info.create_float; }) {
    const auto& [info, options] = ValidChoice(config);
    if constexpr (std::is_same_v<T, float>) {
      return info.create_float(options, std::forward<Args>(args)...);
    } else {
      return info.create_double(options, std::forward<Args>(args)...);
    }
  }

 protected:
  // Returns the information about a plug-in, without its factory.
  template <typename Plugin>
  static Info InfoOf(absl::string_view description) {
    Info info = {};
    Describe<Plugin>(description, &info);
    if constexpr (requires { info.template Describe<Plugin>(); }) {
      info.template Describe<Plugin>();
    }
    return info;
  }

  void Insert(Info info) {
    const auto position = std::lower_bound(
        plugins_.begin(), plugins_.end(), info,
        [](const Info& a, const Info& b) { return a.name < b.name; });
    REGARD_CHECK(position == plugins_.end() || position->name != info.name)
        << info.name << " is registered twice";
    plugins_.insert(position, std::move(info));
  }

  // Returns the plug-in that `config` chose, and its options. `config` must be
  // valid.
  std::pair<const Info&, const Message&> ValidChoice(
      const Config& config) const {
    const Message* options = ChosenOptions(config);
    const Info* info = FindByOptions(options);
    if (info == nullptr) RefuseUnvalidated(choice_);
    return {*info, *options};
  }

  OptionsWithPath FindOptionsWithPath(const Config& config) const {
    OptionsWithPath chosen = FindOptionsInOneof(config, choice_);
    if (chosen.options == nullptr && chosen.path.empty()) {
      chosen.options = fallback_;
    }
    return chosen;
  }

 private:
  template <typename Plugin, typename... Context>
  static void Describe(absl::string_view description,
                       PluginInfo<Context...>* info) {
    using Options = typename Plugin::Options;
    static_assert(
        ValidatesOptions<Plugin, Context...>,
        "declare `static void Validate(const Options&, <the context>, "
        "ConfigProblems&)` in the public part of the plug-in");
    *info = {TypeName(Options::default_instance()), std::string(description),
             &Options::default_instance(),
             [](const Message& options, const Context&... context,
                ConfigProblems& problems) {
               Plugin::Validate(static_cast<const Options&>(options),
                                context..., problems);
             }};
  }

  template <typename Plugin, typename Interface, typename... Args>
  static void FillInFactory(PluginFactory<Interface, Args...>* factory) {
    *factory = [](const Message& options,
                  Args... args) -> std::unique_ptr<Interface> {
      return std::make_unique<Plugin>(
          static_cast<const typename Plugin::Options&>(options),
          std::forward<Args>(args)...);
    };
  }

  const Info* FindByOptions(const Message* options) const {
    if (options == nullptr) return nullptr;
    const std::string name = TypeName(*options);
    for (const Info& info : plugins_) {
      if (info.name == name) return &info;
    }
    return nullptr;
  }

  const google::protobuf::OneofDescriptor& choice_;
  std::string example_;
  const Message* fallback_;
  std::vector<Info> plugins_;
};

// Defines `void RegisterNAMEInREGISTRY(regard::REGISTRY&)` for the plug-in
// NAME, in any namespace. The function has C linkage, so plug-ins of one
// registry must have different names even in different namespaces. A plug-in in
// the list of another registry does not link.
#define REGARD_PLUGIN(registry, name, description)                       \
  extern "C" void Register##name##In##registry(::regard::registry& to) { \
    to.Add<name>(description);                                           \
  }

}  // namespace regard

#endif  // OPTIONS_OPTION_REGISTRY_H_
